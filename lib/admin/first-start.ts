import type { Sql } from 'postgres'
import { insertFirstProject } from '../store/first-project.ts'
import { type KeyMaking, makeKey } from './keys.ts'

/**
 * Makes the owner account, the project `default` and one key with every scope, and returns the key: once, in a database
 * that holds no project, be it embedded or one's own. Undefined where there is a project already, or no secret to make
 * keys with.
 */
export async function prepareFirstStart(sql: Sql, making: KeyMaking): Promise<string | undefined> {
  if (making.digestSecret === undefined) return undefined
  const { key, stored } = makeKey(making)
  return (await insertFirstProject(sql, stored)) === undefined ? undefined : key
}
