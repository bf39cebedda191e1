/** Values that fields may have. Commands list them in their help, for which they do not load the schemas. */
export const FIELD_VALUES = {
  spanKind: ['llm', 'agent', 'tool', 'chain', 'retriever', 'embedding', 'reranker', 'custom'],
  status: ['ok', 'error', 'unset'],
  dataType: ['numeric', 'categorical', 'boolean']
} as const
