/** Values that fields may have. Commands list them in their help, for which they do not load the schemas. */
export const FIELD_VALUES = {
  spanKind: ['llm', 'agent', 'tool', 'chain', 'retriever', 'embedding', 'reranker', 'custom'],
  status: ['ok', 'error', 'unset'],
  dataType: ['numeric', 'categorical', 'boolean'],
  /** Metrics by which usage groups are ranked. */
  usageSort: ['traces', 'errors', 'cost', 'tokens', 'duration']
} as const
export type UsageSort = (typeof FIELD_VALUES.usageSort)[number]

/** Maximum number of remaining traces that a deletion counts. */
export const MOST_REMAINING = 10_000
