export const SHOWN_SOURCES = { api: 'API', annotation: 'people', eval: 'evaluators' } as const
export type Source = keyof typeof SHOWN_SOURCES
