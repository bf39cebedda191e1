/** The load generator's plan and report. The benchmark starts the load generator as a separate process. */
import { type ChildProcess, fork } from 'node:child_process'
import type { BodyKind } from '../bodies/bodies.ts'

/**
 * Traces that are each sent in one request; or a typical trace sent as a start, four appends of two spans, and an end;
 * or a typical trace sent as a separate OTLP export; or a coding agent's run sent in one of four ways.
 */
export type LoadKind = BodyKind | 'streaming' | 'otlp-json' | 'otlp-protobuf' | AgentKind
/**
 * A run sent whole; or as start, an append for each span, and end; or as OTLP exports of four spans, as a batching
 * exporter sends them; or as one OTLP export in protobuf.
 */
export type AgentKind = 'agent' | 'agent-live' | 'agent-otlp-json' | 'agent-otlp-protobuf' | 'agent-otlp-whole'
export const AGENT_KINDS: readonly AgentKind[] = [
  'agent',
  'agent-live',
  'agent-otlp-json',
  'agent-otlp-protobuf',
  'agent-otlp-whole'
]

/** Path and headers of another program's OTLP endpoint. */
export interface OtlpEndpoint {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

/** A trace for which every request was accepted. */
export interface AcceptedTrace {
  readonly id: string
  readonly spans: number
}

export interface LoadPlan {
  readonly port: number
  readonly key: string
  /** Keys of several projects, which the connections use in turn instead of `key`. */
  readonly keys?: readonly string[]
  readonly kind: LoadKind
  /** Receives OTLP exports in place of this service's endpoint. */
  readonly endpoint?: OtlpEndpoint
  /** Size of `last` and `sample` in the report. Defaults to 0. */
  readonly keep?: number
  /** File of runs that replace the generated runs of the agent kinds: one body of `POST /api/v1/traces` per line. */
  readonly runs?: string
  /** Number of connections, each with at most one request in flight. */
  readonly connections: number
  /** The first of the numbers that determine the traces' times. */
  readonly firstNumber: number
  /**
   * Traces per second, started whether or not earlier requests have been answered. If omitted, each connection starts
   * the next trace at once.
   */
  readonly rate?: number
  /** Share of traces, from 0 to 1, that the sender immediately resends. Defaults to 0. */
  readonly resends?: number
  readonly warmUpMs: number
  readonly measureMs: number
}

/** The figures of the measured period. */
export interface LoadReport {
  /** Number of traces for which every request was answered with a 2xx status. */
  readonly traces: number
  readonly requests: number
  /** Total bytes of the counted traces' bodies. */
  readonly bodyBytes: number
  /** Number of responses by status. */
  readonly statuses: Readonly<Record<string, number>>
  /**
   * Number of OTLP exports in protobuf that were answered with 2xx and a partial success, which rejects spans or warns.
   * Their traces are not counted.
   */
  readonly partial: number
  readonly seconds: number
  /**
   * Milliseconds per request. At a fixed rate they include the wait for a connection. NaN if no request was answered.
   */
  readonly p50: number
  readonly p99: number
  readonly max: number
  /** CPU time of the load generator, in µs. */
  readonly cpuMicros: number
}

/** Traces that were accepted in the measured period, or before or after it. */
export interface AcceptedTraces {
  readonly accepted: number
  /** The latest traces, in the order of the responses. */
  readonly last: readonly AcceptedTrace[]
  /** Traces drawn from all, each with the same probability. */
  readonly sample: readonly AcceptedTrace[]
}

export type SenderMessage =
  | { readonly event: 'opened' }
  | { readonly event: 'finished'; readonly accepted: AcceptedTraces }
  | { readonly event: 'closed'; readonly report: LoadReport }
  | { readonly event: 'failed'; readonly reason: string }

/** Called when the measured period starts and when it ends. The load continues during the call. */
export interface Window {
  opened(): void
  closed(): void
}

export interface Sender {
  /** Runs a plan. Resolves when the last request has been answered. */
  run(plan: LoadPlan, window?: Window): Promise<LoadReport & AcceptedTraces>
  stop(): void
}

const ENDED = 'the load generator ended'

/** Starts the load generator's process, which builds the bodies of a kind on first use. */
export function startSender(): Sender {
  const child = fork(new URL('sender.js', import.meta.url), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  return { run: (plan, window) => runPlan(child, plan, window), stop: () => void child.kill() }
}

function runPlan(child: ChildProcess, plan: LoadPlan, window?: Window): Promise<LoadReport & AcceptedTraces> {
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
      } else if (message.event === 'finished') {
        const { accepted } = message
        settle(() => resolve({ ...report!, ...accepted }))
      } else settle(() => reject(new Error(message.reason)))
    }
    child.on('message', onMessage).on('exit', onExit)
    child.send(plan)
  })
}
