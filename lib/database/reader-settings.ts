/**
 * The settings of connections that answer reads. Statements are planned once a connection, without their values, so that
 * a page costs no planning and no value can bring about a plan of its own; and an index is used wherever one can be, so
 * that a plan made for tables that were still empty is the right one when they are full.
 */
export const READER_SETTINGS = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  // What a plan is thought to cost says nothing here, and compiling it would take longer than running it.
  jit: 'off'
} as const
