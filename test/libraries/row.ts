/** A row of the table: a library, the program that uses it, and the traces that the program must produce. */

export interface Row {
  /** The row's name for `--only`. */
  readonly name: string
  /** The library's name in the table. */
  readonly library: string
  /** The package on PyPI, whose version the table shows. */
  readonly distribution: string
  /** The name of the file in `environments/`, without its extension. */
  readonly environment: string
  /** The name of the file in `programs/`. */
  readonly program: string
  /** Environment variables for this program, in addition to those for all programs. */
  readonly env?: Environment
  readonly expected: Expected
}

export type Environment = (to: Addresses) => Readonly<Record<string, string>>

export interface Addresses {
  readonly url: string
  readonly grpcUrl: string
  readonly key: string
  /** The address of the model provider. */
  readonly modelUrl: string
}

/** The expected values. Null means that the library does not send the value, and that the trace must not have it. */
export interface Expected {
  /** The steps of the trace that succeeds, each as kind and name, indented below its parent. */
  readonly tree: readonly string[]
  /** The steps of the trace with the failed call, in the same form. */
  readonly failing: readonly string[]
  /** Strings that the trace's input, the trace's output and the failed step must contain. */
  readonly input: string | null
  readonly output: string | null
  readonly error: string | null
  readonly model: string | null
  readonly provider: string | null
  /** The trace must have the tokens of this number of model calls; null if the library sends no tokens. */
  readonly calls: number | null
  readonly costUsd: number | null
  readonly sessionId: string | null
  readonly userId: string | null
  readonly tags: readonly string[] | null
}

export const COLUMNS = [
  'tree',
  'input',
  'output',
  'model',
  'provider',
  'tokens',
  'cost',
  'session',
  'user',
  'tags',
  'error'
] as const
export type Column = (typeof COLUMNS)[number]
