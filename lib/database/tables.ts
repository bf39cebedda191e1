/** The tables of the schema, what the code does with each, and what they are called where a statement runs. */

interface Handling {
  /** Deleted traces leave room in it. */
  readonly vacuumed?: true
  /** It is part of the index of words, and is emptied when a project turns search off. */
  readonly indexed?: true
}

/**
 * A project has its rows in all of them on one server, and may be on another server than the next project. So each begins
 * its keys with project_id, and a statement that names the project finds all rows on that server.
 */
const HANDLING = {
  traces: { vacuumed: true },
  spans: { vacuumed: true },
  scores: { vacuumed: true },
  trace_tags: { vacuumed: true },
  trace_families: {},
  ranking_floors: {},
  project_totals: {},
  span_messages: { vacuumed: true },
  rollup_news: {},
  rollups: {},
  user_sums: {},
  rollup_history: {},
  search_news: { indexed: true },
  search_terms: { indexed: true },
  search_segments: { indexed: true },
  search_postings: { indexed: true },
  search_fills: { indexed: true }
} as const satisfies Readonly<Record<string, Handling>>

export type ProjectTable = keyof typeof HANDLING
export const PROJECT_TABLES = Object.keys(HANDLING) as ProjectTable[]

const tablesWith = (need: keyof Handling): ProjectTable[] => PROJECT_TABLES.filter(table => need in HANDLING[table])
export const VACUUMED_TABLES = tablesWith('vacuumed')
export const INDEX_TABLES = tablesWith('indexed')

/**
 * The names of a project's tables on the server that is asked. Statements take the names from this value, and write no
 * name of a table themselves: elsewhere than in the schema a table has another name.
 */
export type TableNames = Readonly<Record<ProjectTable, string>>

/** The names in the schema, as sql/ has them. */
export const SCHEMA_NAMES = Object.fromEntries(PROJECT_TABLES.map(table => [table, table])) as TableNames

/** A statement that deletes what these tables have of the project $1. */
export function emptying(tables: readonly ProjectTable[]): string {
  const steps = tables.map(table => `delete from ${table} where project_id = $1`)
  const before = steps.slice(0, -1).map((step, i) => `emptied_${i} as (${step})`)
  return `with ${before.join(', ')} ${steps.at(-1)}`
}

/** A restore gives their rows the numbers of the backup, so it raises their sequences. */
export const NUMBERED_TABLES = ['accounts', 'projects', 'users'] as const

/**
 * Always on the server of DATABASE_URL: they are small, and belong to no project or are asked for before a project is
 * known.
 */
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
