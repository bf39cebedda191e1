/** Values of fields. Commands list them in their help, for which they do not load the schemas. */
export const SPAN_KINDS = ['llm', 'agent', 'tool', 'chain', 'retriever', 'embedding', 'reranker', 'custom'] as const
export const STATUSES = ['ok', 'error', 'unset'] as const
export const DATA_TYPES = ['numeric', 'categorical', 'boolean'] as const
