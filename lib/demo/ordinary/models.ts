/** The models of ordinary traces, with list prices in US dollars per million tokens and rough speeds. */
export interface DemoModel {
  readonly provider: string
  readonly model: string
  readonly input: number
  readonly output: number
  /** Time to the first token, and time per output token, in milliseconds. */
  readonly first: number
  readonly pace: number
}

export const MODELS = {
  mini: { provider: 'openai', model: 'gpt-5-mini', input: 0.25, output: 2, first: 480, pace: 7 },
  sonnet: { provider: 'anthropic', model: 'claude-sonnet-4-5', input: 3, output: 15, first: 900, pace: 14 },
  opus: { provider: 'anthropic', model: 'claude-opus-4-5', input: 5, output: 25, first: 1400, pace: 19 },
  flash: { provider: 'google', model: 'gemini-2.5-flash', input: 0.3, output: 2.5, first: 350, pace: 4 },
  small: { provider: 'mistralai', model: 'mistral-small-2506', input: 0.1, output: 0.3, first: 210, pace: 6 }
} as const satisfies Record<string, DemoModel>

export const EMBEDDING_MODEL = { provider: 'openai', model: 'text-embedding-3-small', input: 0.02 } as const
