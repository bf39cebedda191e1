/**
 * The settings of connections that answer reads. A statement is planned once for each connection and without its
 * values. So a page costs no planning, and no value leads to another plan. An index is used wherever one can be, so
 * that a plan made while the tables were empty is still right when they are full.
 */
export const READER_SETTINGS = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  // The estimated costs of these plans are meaningless, and compiling a plan would take longer than running it.
  jit: 'off'
} as const
