/** A command is data that describes its usage, and `run`, which receives parsed values and prints through its Call. */

import type { Progress } from './terminal/progress.ts'

/** Thrown for incorrect usage: exit code 2. Any other error is the command's failure: exit code 1. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export interface Flag {
  readonly type: 'string' | 'boolean'
  /** Placeholder for the value in the help, such as SLUG. */
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
  /** Undefined only for the last parameter, if the usage makes it optional. */
  readonly parameters: { readonly [Name in P]: string }
  readonly env: NodeJS.ProcessEnv
  readonly json: boolean
  /** Prints the command's result. Must be called once. Prints the value with --json, and the text otherwise. */
  print(value: unknown, text: string): void
  /** Writes part of the output to stdout, for output too long for memory. Resolves when more can be written. */
  stream(bytes: string | Uint8Array): Promise<void>
  /** Shows the command's progress to people on stderr. */
  readonly progress: Progress
}

export interface CommandUsage<F extends Flags = Flags, P extends string = string> {
  /** Parameter names in capitals, in order. */
  readonly parameters: readonly P[]
  /** Makes the last parameter optional. All other parameters are required. */
  readonly lastIsOptional?: true
  readonly flags: F
  /** Details beyond the summary, as lines of text. */
  readonly details?: string
  /** Examples of what follows `spoor` on the command line. */
  readonly examples: readonly string[]
}

export interface Command<F extends Flags = Flags, P extends string = string> {
  readonly summary: string
  readonly usage: CommandUsage<F, P>
  run(call: Call<F, P>): Promise<void>
}

/** Infers the types of `run` from the usage. */
export function command<const F extends Flags, const P extends string = never>(command: Command<F, P>): Command {
  return command as unknown as Command
}
