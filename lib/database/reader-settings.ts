/**
 * Settings of connections that serve reads. Each connection plans a statement once, without its values, so that pages
 * incur no planning cost and values cannot change the plan. Indexes are used wherever possible, so that plans made for
 * empty tables also suit full tables.
 */
export const READER_SETTINGS = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  // The cost estimates of these plans are meaningless, and JIT compilation would take longer than execution.
  jit: 'off'
} as const
