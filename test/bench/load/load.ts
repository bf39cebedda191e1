/** The load generator's plan and its report. The benchmark starts it as a process of its own. */
import { type ChildProcess, fork } from 'node:child_process'
import type { BodyKind } from '../bodies/bodies.ts'

/**
 * Bodies sent whole; or a typical trace as start, four appends of two spans, and end; or a typical trace as an OTLP
 * export of its own; or a run of a coding agent in one of four ways.
 */
export type LoadKind = BodyKind | 'streaming' | 'otlp-json' | 'otlp-protobuf' | AgentKind
/**
 * A run sent whole; or as start, an append for each span, and end; or as OTLP exports of four spans, as a batching
 * exporter sends them.
 */
export type AgentKind = 'agent' | 'agent-live' | 'agent-otlp-json' | 'agent-otlp-protobuf'
export const AGENT_KINDS: readonly AgentKind[] = ['agent', 'agent-live', 'agent-otlp-json', 'agent-otlp-protobuf']

export interface LoadPlan {
  readonly port: number
  readonly key: string
  /** Keys of several projects, which connections use in turn, instead of the one. */
  readonly keys?: readonly string[]
  readonly kind: LoadKind
  /** File of runs for the agent kinds, in place of generated runs: bodies of `POST /api/v1/traces`, one a line. */
  readonly runs?: string
  /** Each has one request under way at most. */
  readonly connections: number
  /** From here on the numbers go that the traces' times follow. */
  readonly firstNumber: number
  /** Traces a second, begun whether or not earlier ones were answered; left out: each connection begins the next at once. */
  readonly rate?: number
  /** The share of all traces, 0 to 1, that their sender sends again at once; left out: none. */
  readonly resends?: number
  readonly warmUpMs: number
  readonly measureMs: number
}

/** The figures of the time of measurement. */
export interface LoadReport {
  /** Whole traces, every request of them answered 2xx. */
  readonly traces: number
  readonly requests: number
  /** Bytes of the answered traces' bodies. */
  readonly bodyBytes: number
  /** Answers by status. */
  readonly statuses: Readonly<Record<string, number>>
  readonly seconds: number
  /** Milliseconds a request; at a fixed rate they include the wait for a connection. NaN: no request got a response. */
  readonly p50: number
  readonly p99: number
  readonly max: number
  /** CPU time of the load generator, in µs. */
  readonly cpuMicros: number
}

export type SenderMessage =
  | { readonly event: 'opened' }
  | { readonly event: 'finished' }
  | { readonly event: 'closed'; readonly report: LoadReport }
  | { readonly event: 'failed'; readonly reason: string }

/** Called when measuring begins and when it ends, with the load going on. */
export interface Window {
  opened(): void
  closed(): void
}

export interface Sender {
  /** Runs a plan; resolves when the last request has been answered. */
  run(plan: LoadPlan, window?: Window): Promise<LoadReport>
  stop(): void
}

const ENDED = 'the load generator ended'

/** Starts the process; it builds the bodies of a kind when it first needs them. */
export function startSender(): Sender {
  const child = fork(new URL('sender.js', import.meta.url), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  return { run: (plan, window) => runPlan(child, plan, window), stop: () => void child.kill() }
}

function runPlan(child: ChildProcess, plan: LoadPlan, window?: Window): Promise<LoadReport> {
  return new Promise((resolve, reject) => {
    if (!child.connected) throw new Error(ENDED)
    let report: LoadReport | undefined
    const settle = (act: () => void) => {
      child.off('message', onMessage).off('exit', onExit)
      act()
    }
    const onExit = () => settle(() => reject(new Error(ENDED)))
    const onMessage = (message: SenderMessage) => {
      if (message.event === 'opened') window?.opened()
      else if (message.event === 'closed') {
        report = message.report
        window?.closed()
      } else if (message.event === 'finished') settle(() => resolve(report!))
      else settle(() => reject(new Error(message.reason)))
    }
    child.on('message', onMessage).on('exit', onExit)
    child.send(plan)
  })
}
