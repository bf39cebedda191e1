/**
 * The tables of the schema, and what the code does with each. On a cluster (Citus) those of projects are spread over
 * the nodes by project_id, all alike, so that whatever belongs to a project is on one node, and a statement that names
 * the project asks that node alone. The first one is the one that the others are laid beside.
 */

interface Handling {
  /** Batches of the write path write to it, so on a cluster its shards are named in their statements. */
  readonly batched?: true
  /** Deleted traces leave room in it. */
  readonly vacuumed?: true
  /** It is part of the index of words, and is emptied when a project turns search off. */
  readonly indexed?: true
}

const PROJECT_TABLES = {
  traces: { batched: true, vacuumed: true },
  spans: { batched: true, vacuumed: true },
  scores: { batched: true, vacuumed: true },
  trace_tags: { batched: true, vacuumed: true },
  trace_families: { batched: true },
  ranking_floors: {},
  project_totals: { batched: true },
  span_messages: { vacuumed: true },
  rollup_news: { batched: true },
  rollups: {},
  user_sums: {},
  rollup_history: {},
  search_news: { batched: true, indexed: true },
  search_terms: { indexed: true },
  search_segments: { indexed: true },
  search_postings: { indexed: true },
  search_fills: { indexed: true }
} as const satisfies Readonly<Record<string, Handling>>

type ProjectTables = typeof PROJECT_TABLES
export type DistributedTable = keyof ProjectTables
/** The tables of which `Need` is true. */
type TablesWith<Need extends keyof Handling> = {
  [T in DistributedTable]: ProjectTables[T] extends Readonly<Record<Need, true>> ? T : never
}[DistributedTable]

const tablesWith = <Need extends keyof Handling>(need: Need): TablesWith<Need>[] =>
  DISTRIBUTED_TABLES.filter((table): table is TablesWith<Need> => need in PROJECT_TABLES[table])

export const DISTRIBUTED_TABLES = Object.keys(PROJECT_TABLES) as DistributedTable[]
export const DISTRIBUTION_COLUMN = 'project_id'
export const BATCHED_TABLES = tablesWith('batched')
export const VACUUMED_TABLES = tablesWith('vacuumed')
export const INDEX_TABLES = tablesWith('indexed')

/** A statement that deletes what these tables have of the project $1. */
export function emptying(tables: readonly DistributedTable[]): string {
  const steps = tables.map(table => `delete from ${table} where ${DISTRIBUTION_COLUMN} = $1`)
  const before = steps.slice(0, -1).map((step, i) => `emptied_${i} as (${step})`)
  return `with ${before.join(', ')} ${steps.at(-1)}`
}

/** A restore gives their rows the numbers of the backup, so it raises their sequences. */
export const NUMBERED_TABLES = ['accounts', 'projects', 'users'] as const

/** Stay on the coordinator: they are small, and belong to no project or are asked for before a project is known. */
export const LOCAL_TABLES = [
  ...NUMBERED_TABLES,
  'api_keys',
  'key_digest_secret',
  'memberships',
  'web_sessions',
  'sign_in_links',
  'sign_in_attempts',
  'oidc_identities',
  'saved_views',
  'audit',
  'schema_migrations'
] as const
