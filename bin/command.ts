/** What a command is: data that says how it is called, and `run`, which parses no more and prints through its call. */

import type { Progress } from './progress.ts'

/** A command line that is wrong: exit code 2. What a command refuses to do is any other error: exit code 1. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export interface Flag {
  readonly type: 'string' | 'boolean'
  /** What stands for the value in the help, such as SLUG. */
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
  readonly parameters: { readonly [Name in P]: string }
  readonly env: NodeJS.ProcessEnv
  readonly json: boolean
  /** Prints what the command has to say, once: the value with --json, the text without. */
  print(value: unknown, text: string): void
  /** Writes to stdout what is too long to be held until it is whole; resolves when there is room for more. */
  stream(text: string): Promise<void>
  /** What people are told on stderr while the command works. */
  readonly progress: Progress
}

export interface Usage<F extends Flags = Flags, P extends string = string> {
  /** Names in capitals, in order; all are needed. */
  readonly parameters: readonly P[]
  readonly flags: F
  /** What the summary does not say, as lines of text. */
  readonly details?: string
  /** What follows `spoor` on the command line. */
  readonly examples: readonly string[]
}

export interface Command<F extends Flags = Flags, P extends string = string> {
  readonly summary: string
  readonly usage: Usage<F, P>
  run(call: Call<F, P>): Promise<void>
}

/** Gives `run` the types that follow from the usage. */
export function command<const F extends Flags, const P extends string = never>(command: Command<F, P>): Command {
  return command as unknown as Command
}
