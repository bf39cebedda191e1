/** Projects for the tests of a cluster, each with a key and its location. */
import type { Sql } from 'postgres'
import { createAccount } from '../../lib/admin/accounts.ts'
import { createKey } from '../../lib/admin/keys.ts'
import { createProject } from '../../lib/admin/projects.ts'
import type { Pool } from '../../lib/database/pool.ts'
import { SCOPES } from '../../lib/schema/scopes.ts'

const LIMIT_BYTES = 1e12
const DIGEST_SECRET = 'a secret for tests only'

export interface PlacedProject {
  readonly id: number
  readonly key: string
  readonly shard: number
  /** The folder of the node's socket, by which nodes connect to each other. */
  readonly node: string
}

/** Creates `count` projects in a new account. */
export async function makeProjects(pool: Pool, account: string, count: number): Promise<PlacedProject[]> {
  return pool.run(async sql => {
    const { id: accountId } = await createAccount(sql, account, 'owner')
    const projects: PlacedProject[] = []
    for (let n = 0; n < count; n++) {
      const made = await makeProject(sql, `${account}-${n}`, accountId)
      projects.push({ ...made, ...(await placeOf(sql, made.id)) })
    }
    return projects
  })
}

/** Creates a project with a key that has all scopes. */
export async function makeProject(sql: Sql, slug: string, accountId: string): Promise<{ id: number; key: string }> {
  const { id } = await createProject(sql, LIMIT_BYTES, { name: slug, slug, accountId })
  const making = { keyPrefix: 'spoor', digestSecret: DIGEST_SECRET }
  const { key } = await createKey(sql, making, { project: slug, scopes: SCOPES })
  return { id: Number(id), key }
}

/** Returns the shard and the node of a project. */
export async function placeOf(sql: Sql, projectId: number): Promise<Pick<PlacedProject, 'shard' | 'node'>> {
  const [place] = await sql<[{ shard: number; node: string }]>`
    select s.shardid as shard, n.nodename as node
    from get_shard_id_for_distribution_column('traces', ${projectId}::int) as s (shardid)
    join pg_dist_placement p on p.shardid = s.shardid
    join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary'`
  return place
}

/** Selects at most `onEach` of these projects per node. */
export function spreadEvenly(projects: readonly PlacedProject[], onEach: number): PlacedProject[] {
  const nodes = [...new Set(projects.map(({ node }) => node))]
  return nodes.flatMap(name => projects.filter(({ node }) => node === name).slice(0, onEach))
}
