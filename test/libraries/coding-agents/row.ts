/**
 * A row of the table of coding agents: the program, the call that its model makes, and the trace that the program must
 * produce.
 */
import type { ToolCall } from '../../provider/answer.ts'
import type { Addresses } from '../row.ts'

export interface AgentRow {
  /** The row's name for `--only`. */
  readonly name: string
  /** The agent's name in the guide. */
  readonly agent: string
  /** The first line of the row's first cell in the table. */
  readonly library: string
  /** The second line of the same cell. */
  readonly version: string
  /** The program to run, or the payload to send if the program cannot be installed. */
  readonly sends: AgentProgram | Payload
  readonly expected: AgentExpected
}

export interface AgentProgram {
  /** The model's call to the agent's shell tool, under the agent's name for that tool. */
  readonly call: ToolCall
  /** The command line. A program that ends with `.js` is started with node. */
  readonly command: (given: Given) => readonly [string, ...string[]]
  /** Matches the part of the guide's files that this row omits. */
  readonly without?: RegExp
  /**
   * Environment variables and files that make the agent use the model provider. The settings for spoor come from the
   * guide.
   */
  readonly env: (given: Given) => Readonly<Record<string, string>>
  readonly files: (given: Given) => Readonly<Record<string, string | object>>
}

/** Posts an export of spans. */
export type Payload = (to: Addresses) => Promise<void>

export interface Given {
  /** The folder with the npm packages, and the agent's home folder, which is also its working folder. */
  readonly modules: string
  readonly home: string
  /** The address of the model provider. */
  readonly provider: string
}

/** The expected values. Null means that the agent does not send the value, and that the trace must not have it. */
export interface AgentExpected {
  /**
   * The agents, model calls, tools and chains in the prompt's trace, each as kind and name, indented below the nearest
   * such step that contains it. No other trace may have steps of these kinds.
   */
  readonly steps: readonly string[]
  readonly name: string | null
  /** Strings that the trace's input and output must contain. */
  readonly input: string | null
  readonly output: string | null
  readonly model: string
  /** The trace must have the tokens of this number of model calls. */
  readonly calls: number
  readonly costUsd: number | null
  /** Strings that the arguments and the result of the tool call must contain. */
  readonly arguments: string | null
  readonly result: string | null
  /** The trace's status; null if the trace is still running when the agent has ended. */
  readonly status: string | null
}

export const AGENT_COLUMNS = [
  'steps',
  'name',
  'input',
  'output',
  'model',
  'tokens',
  'cost',
  'session',
  'arguments',
  'result',
  'status'
] as const
export type AgentColumn = (typeof AGENT_COLUMNS)[number]
