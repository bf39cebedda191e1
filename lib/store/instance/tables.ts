/** Which tables of the schema are spread where a database is one of a cluster (Citus), and which are not. */

/**
 * Spread over the nodes by project_id, all alike, so that whatever belongs to a project is on one node, and a statement
 * that names the project asks that node alone. The first one is the one that the others are laid beside.
 */
export const DISTRIBUTED_TABLES = [
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
export type DistributedTable = (typeof DISTRIBUTED_TABLES)[number]
export const DISTRIBUTION_COLUMN = 'project_id'

/** Stay on the coordinator: they are small, and belong to no project or are asked for before a project is known. */
export const LOCAL_TABLES = [
  'accounts',
  'projects',
  'api_keys',
  'key_digest_secret',
  'users',
  'memberships',
  'web_sessions',
  'sign_in_links',
  'sign_in_attempts',
  'oidc_identities',
  'saved_views',
  'audit',
  'schema_migrations'
] as const
