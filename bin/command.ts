/** A command is data that describes its usage, and `run`, which gets parsed values and prints through its Call. */

import type { Progress } from './terminal/progress.ts'

/** Thrown for wrong usage: exit code 2. Any other error is a refusal of the command: exit code 1. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export interface Flag {
  readonly type: 'string' | 'boolean'
  /** The placeholder of the value in the help, such as SLUG. */
  readonly value?: string
  readonly about: string
  readonly required?: true
}
export type Flags = Readonly<Record<string, Flag>>

type FlagValue<F extends Flag> = F extends { type: 'boolean' }
  ? boolean
  : F extends { required: true }
    ? string
    : string | undefined

export interface Call<F extends Flags = Flags, P extends string = string> {
  readonly flags: { readonly [Name in keyof F]: FlagValue<F[Name]> }
  /** Undefined only for the last one, where the usage says that it may be left out. */
  readonly parameters: { readonly [Name in P]: string }
  readonly env: NodeJS.ProcessEnv
  readonly json: boolean
  /** Prints the result of the command. Must be called once. With --json prints the value, otherwise the text. */
  print(value: unknown, text: string): void
  /**
   * Writes a part of an output that is too long to be held in memory to stdout. Resolves when there is room for more.
   */
  stream(bytes: string | Uint8Array): Promise<void>
  /** Shows people on stderr how far the command is. */
  readonly progress: Progress
}

export interface CommandUsage<F extends Flags = Flags, P extends string = string> {
  /** The names of the parameters in capitals, in order. */
  readonly parameters: readonly P[]
  /** The last parameter may be left out; the others never. */
  readonly lastIsOptional?: true
  readonly flags: F
  /** More than the summary says, as lines of text. */
  readonly details?: string
  /** Examples of what follows `spoor` on the command line. */
  readonly examples: readonly string[]
}

export interface Command<F extends Flags = Flags, P extends string = string> {
  readonly summary: string
  readonly usage: CommandUsage<F, P>
  run(call: Call<F, P>): Promise<void>
}

/** Gives `run` the types that follow from the usage. */
export function command<const F extends Flags, const P extends string = never>(command: Command<F, P>): Command {
  return command as unknown as Command
}
