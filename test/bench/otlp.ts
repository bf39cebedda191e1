/**
 * Compares the costs of a span sent over OTLP and of a recorded span: the CPU time of a protobuf export of many typical
 * traces, and that of similar traces recorded one by one. The two take turns, so that other load on the machine affects
 * both.
 */
import { randomBytes } from 'node:crypto'
import { Pool } from 'undici'
import type { TraceInput } from '../../lib/schema/input.ts'
import { ingestBody, SHAPES } from './bodies/bodies.ts'
import { encodeExport } from './bodies/export.ts'
import { MINUTE_PLACE, SESSION_PLACE, TRACE_ID_PLACE } from './bodies/template.ts'
import { addTimes, type CpuTimes, divideTimes, NO_TIMES, subtractTimes } from './machine/cpu.ts'

export interface OtlpCostPlan {
  readonly port: number
  readonly key: string
  /** Number of traces per export. */
  readonly traces: number
  /** Number of exports per round. */
  readonly exports: number
  readonly rounds: number
  /** Returns the CPU times of the server and its PostgreSQL so far. */
  readTimes(): CpuTimes
}

export interface OtlpCost {
  /** CPU time of one span, in µs. */
  readonly recorded: CpuTimes
  readonly exported: CpuTimes
  readonly rates: readonly OtlpRate[]
  readonly spans: number
  readonly traces: number
}

/** Traces per second, recorded one by one and in exports, with `connections` requests in flight. */
export interface OtlpRate {
  readonly connections: number
  readonly recorded: number
  readonly exported: number
}

const CONNECTIONS = 8
const RATED_CONNECTIONS = [1, 16, 64]
/**
 * Minimum number of exports per round, and number per connection. With only one export per connection, connections
 * would be idle for much of a round.
 */
const RATED_EXPORTS = 12
const EXPORTS_EACH = 3
const MINUTE = '2026-06-01T12:00'

interface Prepared {
  readonly path: string
  readonly type: string
  readonly body: string | Uint8Array
}

export async function measureOtlpCost(plan: OtlpCostPlan): Promise<OtlpCost> {
  const { traces, exports, rounds } = plan
  const pool = new Pool(`http://127.0.0.1:${plan.port}`, { connections: CONNECTIONS })
  const wide = new Pool(`http://127.0.0.1:${plan.port}`, { connections: Math.max(...RATED_CONNECTIONS) })
  const post = async (path: string, type: string, body: string | Uint8Array, over = pool) => {
    const headers = { authorization: `Bearer ${plan.key}`, 'content-type': type }
    const answer = await over.request({ method: 'POST', path, headers, body })
    const text = await answer.body.text()
    if (answer.statusCode >= 300 || text.includes('refused')) throw new Error(`${path} was answered ${text}`)
  }
  const sendRecorded = async () => {
    for (let i = 0; i < exports; i++) {
      const bodies = freshTraces(traces).map(trace => JSON.stringify({ schemaVersion: 1, trace }))
      await Promise.all(bodies.map(body => post('/api/v1/traces', 'application/json', body)))
    }
  }
  const sendExported = async () => {
    for (let i = 0; i < exports; i++) {
      await post('/api/v1/otlp/v1/traces', 'application/x-protobuf', encodeExport(freshTraces(traces)))
    }
  }

  const prepare = (count: number) => {
    const groups = Array.from({ length: count }, () => freshTraces(traces))
    const recorded = groups.flat().map(trace => ({
      ...{ path: '/api/v1/traces', type: 'application/json', body: JSON.stringify({ schemaVersion: 1, trace }) }
    }))
    const exported = Array.from({ length: count }, () => ({
      ...{ path: '/api/v1/otlp/v1/traces', type: 'application/x-protobuf', body: encodeExport(freshTraces(traces)) }
    }))
    return { recorded, exported }
  }
  /** Returns the seconds until all requests were answered, with `connections` requests in flight. */
  const sendAll = async (requests: readonly Prepared[], connections: number) => {
    const left = [...requests]
    const begun = performance.now()
    const work = async () => {
      for (let next = left.pop(); next !== undefined; next = left.pop())
        await post(next.path, next.type, next.body, wide)
    }
    await Promise.all(Array.from({ length: connections }, work))
    return (performance.now() - begun) / 1000
  }
  /**
   * Measures how fast traces are recorded one by one, and in exports. The requests are built before the clock starts.
   */
  const rate = async (connections: number): Promise<OtlpRate> => {
    const count = Math.max(RATED_EXPORTS, EXPORTS_EACH * connections)
    const seconds = { recorded: 0, exported: 0 }
    for (let round = 0; round < rounds; round++) {
      const requests = prepare(count)
      seconds.recorded += await sendAll(requests.recorded, connections)
      seconds.exported += await sendAll(requests.exported, connections)
    }
    const all = count * traces * rounds
    return { connections, recorded: all / seconds.recorded, exported: all / seconds.exported }
  }

  let total = { recorded: NO_TIMES, exported: NO_TIMES }
  const rates: OtlpRate[] = []
  try {
    await sendRecorded()
    await sendExported()
    for (let round = 0; round < rounds; round++) {
      const start = plan.readTimes()
      await sendRecorded()
      const middle = plan.readTimes()
      await sendExported()
      const end = plan.readTimes()
      total = {
        recorded: addTimes(total.recorded, subtractTimes(middle, start)),
        exported: addTimes(total.exported, subtractTimes(end, middle))
      }
    }
    for (const connections of RATED_CONNECTIONS) rates.push(await rate(connections))
  } finally {
    await Promise.all([pool.close(), wide.close()])
  }
  const spans = traces * SHAPES.typical.spans
  const each = spans * exports * rounds
  return {
    recorded: divideTimes(total.recorded, each),
    exported: divideTimes(total.exported, each),
    rates,
    spans,
    traces
  }
}

function freshTraces(count: number): TraceInput[] {
  return Array.from({ length: count }, (_, i) => {
    const text = JSON.stringify(ingestBody('typical', i % SHAPES.typical.variants).trace)
    const fresh = text
      .replaceAll(TRACE_ID_PLACE, randomBytes(16).toString('hex'))
      .replaceAll(SESSION_PLACE, randomBytes(8).toString('hex'))
      .replaceAll(MINUTE_PLACE, MINUTE)
    return JSON.parse(fresh)
  })
}
