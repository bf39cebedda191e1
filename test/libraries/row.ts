/** A row of the table: a library, the program that uses it, and what must arrive. */

export interface Row {
  /** How `--only` names it. */
  readonly name: string
  /** How the table names it. */
  readonly library: string
  /** The package on PyPI, whose version the table shows. */
  readonly distribution: string
  /** The file in `environments/`, without its ending. */
  readonly environment: string
  /** The file in `programs/`. */
  readonly program: string
  /** Variables of the program, beside those of every one. */
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

/** Null: the library does not say it, so it must not be there. */
export interface Expected {
  /** The steps of the trace that answers, each as kind and name, indented below its parent. */
  readonly tree: readonly string[]
  /** The same of the trace whose call fails. */
  readonly failing: readonly string[]
  /** Texts that the input of the trace has in it, the output, and what the failed step says. */
  readonly input: string | null
  readonly output: string | null
  readonly error: string | null
  readonly model: string | null
  readonly provider: string | null
  /** Tokens as those of so many calls of the provider; null if the library sends none. */
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
