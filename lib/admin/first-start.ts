import type { Sql } from 'postgres'
import { AdminError } from '../admin-error.ts'
import type { Config, FirstStartConfig } from '../config.ts'
import type { Database } from '../database/database.ts'
import { isReadOnlyRefusal } from '../database/failure.ts'
import { isBehind, readSchemaState } from '../database/migrate.ts'
import { Pool } from '../database/pool.ts'
import { isLoopback } from '../network-list.ts'
import { FIRST_USER, foldEmail } from '../people/email.ts'
import { digestToken, makeToken } from '../people/tokens.ts'
import { insertLink } from '../store/people/sessions.ts'
import { findOperator, hasUsers, insertFirstUser } from '../store/people/users.ts'
import { isOtherSecret, OTHER_SECRET } from '../store/projects/digest-secret.ts'
import { hasProjects, insertFirstProject } from '../store/projects/projects.ts'
import { adoptKey, type KeyMaking, makeKey } from './keys.ts'

export interface FirstStart {
  /** The whole key, if one was created. */
  readonly key: string | undefined
  /** Token of the first user's dashboard sign-in link, if one was created. */
  readonly link: string | undefined
  /** The fault that prevents this deployment from serving and from creating keys; undefined if there is none. */
  readonly obstacle: string | undefined
}

/**
 * When to create sign-in links: at each start (`always`), only at the first start (`first`), or never because there is
 * no dashboard (`off`).
 */
export type Links = 'always' | 'first' | 'off'

const NO_INIT: FirstStartConfig = { project: undefined, key: undefined, owner: undefined }

/**
 * Decides when to create sign-in links. A working link must not end up in a log. If stdout is not a terminal (for
 * example, under systemd or Docker), the output counts as a log, and only the first start prints a link, just as only
 * the first start prints a key. The same applies to a server that other machines reach directly, because its terminal
 * is often recorded (`docker run -t`).
 */
export function linksOf({ dashboard, host }: Pick<Config, 'dashboard' | 'host'>, isTerminal: boolean): Links {
  if (!dashboard) return 'off'
  return isTerminal && isLoopback(host.toLowerCase()) ? 'always' : 'first'
}

/**
 * Creates the owner account, the project `default` and one key with every scope if the database, embedded or external,
 * has no project. Also creates the first user, if no user exists, and a sign-in link.
 */
export async function prepareFirstStart(
  database: Database,
  keyPrefix: string,
  links: Links = 'first',
  init: FirstStartConfig = NO_INIT
) {
  if (database.digestSecret === undefined) return hindered('KEY_DIGEST_SECRET is not set')
  const { connect, limit } = database
  const making = { keyPrefix, digestSecret: database.digestSecret, previousSecret: database.previousSecret }
  const pool = new Pool(onClose => connect({ applicationName: 'first start', onClose }), { size: 1, limit })
  try {
    return await pool.run(sql => makeFirst(sql, making, links, init))
  } catch (error) {
    if (error instanceof AdminError) return hindered(error.message)
    return hindered(`the database cannot be used: ${(error as Error).message || (error as { code?: string }).code}`)
  } finally {
    await pool.end()
  }
}

async function makeFirst(sql: Sql, making: KeyMaking, links: Links, init: FirstStartConfig): Promise<FirstStart> {
  const schema = await readSchemaState(sql)
  if (isBehind(schema)) return hindered(`the schema is ${schema.state}: run \`spoor migrate\``)
  // If projects exist, no key is written, because the database may be a standby.
  if (await hasProjects(sql)) {
    if (await isOtherSecret(sql, making.digestSecret ?? '', making.previousSecret)) return hindered(OTHER_SECRET)
    return { key: undefined, link: await makeFirstLink(sql, links, false, init), obstacle: undefined }
  }
  const { key, stored } = await (init.key === undefined ? makeKey(sql, making) : adoptKey(sql, making, init.key))
  const named = init.project === undefined ? undefined : { slug: init.project, name: init.project }
  const isFirst = (await insertFirstProject(sql, stored, named)) !== undefined
  const link = await makeFirstLink(sql, links, isFirst, init)
  // The operator already knows a configured key, which must not end up in a log.
  return { key: isFirst && init.key === undefined ? key : undefined, link, obstacle: undefined }
}

/** Returns a new link's token; undefined if no link is needed, no operator exists, or the database is read-only. */
async function makeFirstLink(
  sql: Sql,
  links: Links,
  isFirst: boolean,
  { owner }: FirstStartConfig
): Promise<string | undefined> {
  if (links === 'off') return undefined
  try {
    if (!(await hasUsers(sql))) await insertFirstUser(sql, owner === undefined ? FIRST_USER : foldEmail(owner))
    // A named owner signs in with a provider or a trusted proxy, or with a link from `spoor user link`.
    if (owner !== undefined) return undefined
    const userId = links === 'always' || isFirst ? await findOperator(sql, FIRST_USER) : undefined
    if (userId === undefined) return undefined
    const token = makeToken()
    await insertLink(sql, userId, digestToken(token) as string, null)
    return token
  } catch (error) {
    if (isReadOnlyRefusal(error)) return undefined
    throw error
  }
}

function hindered(obstacle: string): FirstStart {
  return { key: undefined, link: undefined, obstacle }
}
