/** The tables of the schema. Only tables that hold a project's traces may be on another server. */

/**
 * Tables that hold a project's rows. Each project's rows are all on one server, but different projects' rows may be on
 * different servers. Keys therefore begin with project_id, so a statement that specifies the project finds all of the
 * project's rows on one server.
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
  'usage_sums',
  'search_news',
  'search_terms',
  'search_segments',
  'search_postings',
  'search_fills',
  'repack_waits',
  'change_news',
  'change_log',
  'change_feeds'
] as const
export type ProjectTable = (typeof PROJECT_TABLES)[number]

/** Tables in which deleted traces leave dead rows. */
export const VACUUMED_TABLES = ['traces', 'spans', 'scores', 'trace_tags', 'span_messages'] as const
/** Tables of the word index, emptied when a project turns search off. */
export const INDEX_TABLES: readonly ProjectTable[] = PROJECT_TABLES.filter(table => table.startsWith('search_'))

/** Tables whose sequences a restore must raise, because restored rows keep their ids from the backup. */
export const NUMBERED_TABLES = ['accounts', 'projects', 'users'] as const

/**
 * The names of a project's tables on the server being queried. Statements must take table names from this value,
 * because the tables on other servers have other names.
 */
export type TableNames = Readonly<Record<ProjectTable, string>>

/** The table names in the schema, as in sql/. */
export const SCHEMA_NAMES = Object.fromEntries(PROJECT_TABLES.map(table => [table, table])) as TableNames

/**
 * Tables that are always on the DATABASE_URL server. All are small. Their rows belong to no project, or are read before
 * the project is known.
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
  'second_factors',
  'saved_views',
  'model_prices',
  'score_definitions',
  'review_leases',
  'public_links',
  'unpriced_models',
  'unkept_records',
  'audit',
  'repack_marks',
  'schema_migrations'
] as const
