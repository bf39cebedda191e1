import type { Sql } from 'postgres'
import { isOtherSecret, OTHER_SECRET } from '../access/digest-secret.ts'
import type { Database } from '../database/database.ts'
import { isBehind, readSchemaState } from '../database/migrate.ts'
import { Pool } from '../database/pool.ts'
import { hasProjects, insertFirstProject } from '../store/first-project.ts'
import { AdminError } from './admin-error.ts'
import { type KeyMaking, makeKey } from './keys.ts'

export interface FirstStart {
  /** The whole key, if one was made. */
  readonly key: string | undefined
  /** What keeps this deployment from serving, so that no key can be made; undefined if nothing does. */
  readonly obstacle: string | undefined
}

/**
 * Makes the owner account, the project `default` and one key with every scope, if the database has no project. It does
 * so for an embedded database and for one of the user's own alike.
 */
export async function prepareFirstStart(database: Database, keyPrefix: string): Promise<FirstStart> {
  if (database.digestSecret === undefined) return hindered('KEY_DIGEST_SECRET is not set')
  const { connect, limit } = database
  const making = { keyPrefix, digestSecret: database.digestSecret }
  const pool = new Pool(onClose => connect({ applicationName: 'first start', onClose }), { size: 1, limit })
  try {
    return await pool.run(sql => makeFirst(sql, making))
  } catch (error) {
    if (error instanceof AdminError) return hindered(error.message)
    return hindered(`the database cannot be used: ${(error as Error).message || (error as { code?: string }).code}`)
  } finally {
    await pool.end()
  }
}

async function makeFirst(sql: Sql, making: KeyMaking): Promise<FirstStart> {
  const schema = await readSchemaState(sql)
  if (isBehind(schema)) return hindered(`the schema is ${schema.state}: run \`spoor migrate\``)
  // If there are projects, nothing is written, because the database may be a standby.
  if (await hasProjects(sql)) {
    const isOther = await isOtherSecret(sql, making.digestSecret ?? '')
    return isOther ? hindered(OTHER_SECRET) : { key: undefined, obstacle: undefined }
  }
  const { key, stored } = await makeKey(sql, making)
  const projectId = await insertFirstProject(sql, stored)
  return { key: projectId === undefined ? undefined : key, obstacle: undefined }
}

function hindered(obstacle: string): FirstStart {
  return { key: undefined, obstacle }
}
