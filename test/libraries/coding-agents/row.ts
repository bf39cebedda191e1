/** A row of the table of coding agents: the program, the call that its model makes, and what must arrive. */
import type { ToolCall } from '../../provider/answer.ts'
import type { Addresses } from '../row.ts'

export interface AgentRow {
  /** How `--only` names it. */
  readonly name: string
  /** How the guide names the agent. */
  readonly agent: string
  /** How the table names the row. */
  readonly library: string
  /** The second line of the table's cell. */
  readonly version: string
  /** The program, or a payload if the program cannot be installed. */
  readonly sends: AgentProgram | Payload
  readonly expected: AgentExpected
}

export interface AgentProgram {
  /** The call of a shell that the model makes, by the name that the agent gives its tool. */
  readonly call: ToolCall
  /** The command line. A program that ends with `.js` is started with node. */
  readonly command: (given: Given) => readonly [string, ...string[]]
  /** The part of the guide's files that this row leaves out. */
  readonly without?: RegExp
  /** Variables and files that lead the agent to the provider. What leads it to spoor comes from the guide. */
  readonly env: (given: Given) => Readonly<Record<string, string>>
  readonly files: (given: Given) => Readonly<Record<string, string | object>>
}

/** Posts an export of spans. */
export type Payload = (to: Addresses) => Promise<void>

export interface Given {
  /** The folder with the packages, and the agent's home, which is its working folder as well. */
  readonly modules: string
  readonly home: string
  /** The address of the model provider. */
  readonly provider: string
}

/** Null: the agent does not say it, so it must not be there. */
export interface AgentExpected {
  /**
   * The agents, model calls, tools and chains of the prompt's trace, each as kind and name, and indented below the
   * nearest of them. No other trace may have any.
   */
  readonly steps: readonly string[]
  readonly name: string | null
  /** Texts that the input of the trace has in it, and the output. */
  readonly input: string | null
  readonly output: string | null
  readonly model: string
  /** Tokens as those of so many calls of the provider. */
  readonly calls: number
  readonly costUsd: number | null
  /** Texts that the arguments of the tool's call have in them, and its result. */
  readonly arguments: string | null
  readonly result: string | null
  /** Null if the trace is still running when the agent has ended. */
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
