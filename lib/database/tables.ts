/**
 * The tables of the schema: those whose rows belong to a project's traces, which may have a server of their own, and
 * the others.
 */

/**
 * A project has its rows in all of them on one server, and may be on another server than the next project. So
 * each begins its keys with project_id, and a statement that names the project finds all rows on that server.
 */
export const PROJECT_TABLES = [
  'traces',
  'spans',
  'scores',
  'trace_tags',
  'trace_families',
  'ranking_floors',
  'project_totals',
  'span_messages',
  'rollup_news',
  'rollups',
  'user_sums',
  'rollup_history',
  'search_news',
  'search_terms',
  'search_segments',
  'search_postings',
  'search_fills'
] as const
export type ProjectTable = (typeof PROJECT_TABLES)[number]

/** Deleted traces leave room in these tables. */
export const VACUUMED_TABLES = ['traces', 'spans', 'scores', 'trace_tags', 'span_messages'] as const
/** The index of words. They are emptied when a project turns search off. */
export const INDEX_TABLES: readonly ProjectTable[] = PROJECT_TABLES.filter(table => table.startsWith('search_'))

/** A restore gives their rows the numbers of the backup, so it raises their sequences. */
export const NUMBERED_TABLES = ['accounts', 'projects', 'users'] as const

/**
 * The names of a project's tables on the server that is asked. Statements take the names from this value, and write no
 * name of a table themselves: elsewhere than in the schema a table has another name.
 */
export type TableNames = Readonly<Record<ProjectTable, string>>

/** The names in the schema, as sql/ has them. */
export const SCHEMA_NAMES = Object.fromEntries(PROJECT_TABLES.map(table => [table, table])) as TableNames

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
