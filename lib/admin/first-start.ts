import type { Database } from '../database/database.ts'
import { isBehind, readSchemaState } from '../database/migrate.ts'
import { insertFirstProject } from '../store/first-project.ts'
import { AdminError } from './admin-error.ts'
import { makeKey } from './keys.ts'

export interface FirstStart {
  /** The whole key, where one was made. */
  readonly key: string | undefined
  /** Why there cannot be one: what keeps this deployment from serving. */
  readonly obstacle: string | undefined
}

/**
 * Makes the owner account, the project `default` and one key with every scope: once, in a database that holds no
 * project, be it embedded or one's own.
 */
export async function prepareFirstStart(database: Database, keyPrefix: string): Promise<FirstStart> {
  if (database.digestSecret === undefined) return hindered('KEY_DIGEST_SECRET is not set')
  const sql = database.connect({ applicationName: 'first start' })
  try {
    const schema = await readSchemaState(sql)
    if (isBehind(schema)) return hindered(`the schema is ${schema.state}: run \`spoor migrate\``)
    const { key, stored } = await makeKey(sql, { keyPrefix, digestSecret: database.digestSecret })
    const projectId = await insertFirstProject(sql, stored)
    return { key: projectId === undefined ? undefined : key, obstacle: undefined }
  } catch (error) {
    if (error instanceof AdminError) return hindered(error.message)
    return hindered(`the database cannot be used: ${(error as Error).message || (error as { code?: string }).code}`)
  } finally {
    await sql.end({ timeout: 1 })
  }
}

function hindered(obstacle: string): FirstStart {
  return { key: undefined, obstacle }
}
