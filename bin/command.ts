/** A command: its usage as data, and `run`, which receives the parsed values and prints through a Call. */

import type { Progress } from './terminal/progress.ts'
import type { Screen } from './terminal/screen.ts'
import type { StartedAs } from './terminal/started-as.ts'

/** Thrown for incorrect usage (exit code 2). */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export interface Flag {
  readonly type: 'string' | 'boolean'
  /** Placeholder for the value in the help, such as SLUG. */
  readonly value?: string
  readonly about: string
  readonly required?: true
  /** Whether the flag may be given several times. */
  readonly repeats?: true
  /** One letter, so that `-f` means the same as `--follow`. */
  readonly short?: string
}
export type Flags = Readonly<Record<string, Flag>>

type FlagValue<F extends Flag> = F extends { type: 'boolean' }
  ? boolean
  : F extends { repeats: true }
    ? readonly string[] | undefined
    : F extends { required: true }
      ? string
      : string | undefined

export interface Call<F extends Flags = Flags, P extends string = string> {
  readonly flags: { readonly [Name in keyof F]: FlagValue<F[Name]> }
  /** Only the value of the last parameter may be undefined, and only if the usage makes this parameter optional. */
  readonly parameters: { readonly [Name in P]: string }
  readonly env: NodeJS.ProcessEnv
  readonly started: StartedAs
  readonly json: boolean
  /**
   * Prints the command's result: the value with --json, otherwise the text, in which `spoor` in backticks becomes the
   * command as it was started. Must be called exactly once.
   */
  print(value: unknown, text: string): void
  /**
   * Writes part of an output to stdout. Used for outputs that are too long for memory. Resolves when more can be
   * written.
   */
  stream(bytes: string | Uint8Array): Promise<void>
  /** Shows the command's progress on stderr. */
  readonly progress: Progress
  /** Writes lines of styled text to stdout instead of `print`, for recorded data. */
  readonly screen: Screen
}

interface Usage<F extends Flags, P extends string> {
  /** Parameter names in capitals, in order. */
  readonly parameters: readonly P[]
  /** Makes the last parameter optional. All other parameters are required. */
  readonly lastIsOptional?: true
  /** Makes all remaining words, joined with spaces, the value of the last parameter. */
  readonly lastIsText?: true
  readonly flags: F
  /** Details beyond the summary, as lines of text. */
  readonly details?: string
  /** Examples of what follows `spoor` on the command line. */
  readonly examples: readonly string[]
}

interface Described<F extends Flags, P extends string> {
  readonly summary: string
  run(call: Call<F, P>): Promise<void>
}

export interface Command extends Described<Flags, string> {
  readonly usage: Usage<Flags, string>
}

type Definition<F extends Flags, P extends string> = Described<F, P> &
  Omit<Usage<F, P>, 'parameters' | 'flags'> &
  Partial<Usage<F, P>>

/** A flag of every command with `--apply`, so that there is one way to ask for a preview. */
const DRY_RUN: Flags = { 'dry-run': { type: 'boolean', about: 'change nothing; the default' } }

/** Defines a command. The types of `run` are inferred from the parameters and the flags, both of which are optional. */
export function command<const F extends Flags = Readonly<Record<never, never>>, const P extends string = never>(
  definition: Definition<F, P>
): Command {
  const { summary, run, flags, ...usage } = definition
  const all: Flags = { ...(flags?.apply && DRY_RUN), ...flags }
  return { summary, run, usage: { parameters: [], ...usage, flags: all } } as unknown as Command
}
