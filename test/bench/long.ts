/**
 * Compares the cost of adding spans to a long trace and to a short trace: the CPU time of node and PostgreSQL,
 * and the WAL, per OTLP export. The two traces take turns, so that other load on the machine affects both.
 */
import type { Sql } from 'postgres'
import { Pool } from 'undici'
import { exportsOf, type LongTrace, longTrace } from '../fixtures/bodies/long-trace.ts'
import { settle } from './copy/tables.ts'
import { type CpuTimes, subtractTimes } from './machine/cpu.ts'

export interface LongCostPlan {
  readonly port: number
  readonly key: string
  readonly sql: Sql
  readonly rounds: number
  /** Returns the CPU times of the server and its PostgreSQL so far. */
  readTimes(): CpuTimes
}

/** CPU time in µs and bytes of WAL, per export. */
export interface GrowthCost {
  /** Number of spans in each trace before the exports. */
  readonly spans: number
  readonly node: number
  readonly postgres: number
  readonly walBytes: number
}

export interface LongCost {
  readonly short: GrowthCost
  readonly long: GrowthCost
  readonly spansAdded: number
}

/** Number of spans that each export adds. */
const ADDED = 8
/**
 * Each round sends the same number of exports to traces of both lengths. A short trace gets few exports, so that it
 * stays short.
 */
const SIZES = {
  short: { spans: 50, traces: 160, exportsEach: 1 },
  long: { spans: 5000, traces: 4, exportsEach: 40 }
} as const
type Size = keyof typeof SIZES

export async function measureLongCost({ port, key, sql, rounds, readTimes }: LongCostPlan): Promise<LongCost> {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 4 })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/x-protobuf' }
  const send = async (body: Uint8Array) => {
    const answer = await pool.request({ method: 'POST', path: '/api/v1/otlp/v1/traces', headers, body })
    const text = await answer.body.text()
    if (answer.statusCode !== 200 || text.includes('refused')) throw new Error(`an export was answered ${text}`)
  }
  const sums = { short: none(), long: none() }
  try {
    // The first round only warms up the server.
    for (let round = 0; round <= rounds; round++) {
      for (const size of ['short', 'long'] as const) {
        const { traces, exportsEach } = SIZES[size]
        const made = Array.from({ length: traces }, () => makeTrace(size))
        for (const { stored } of made) for (const body of exportsOf(stored)) await send(body)
        const bodies = Array.from({ length: exportsEach }, (_, i) => made.map(({ more }) => more[i]!)).flat()
        await settle(sql)
        const wal = await readWal(sql)
        const before = readTimes()
        for (const body of bodies) await send(body)
        const { node, postgres } = subtractTimes(readTimes(), before)
        if (round === 0) continue
        sums[size].node += node
        sums[size].postgres += postgres
        sums[size].walBytes += (await readWal(sql)) - wal
        sums[size].exports += bodies.length
      }
    }
  } finally {
    await pool.close()
  }
  return { short: costOf('short', sums.short), long: costOf('long', sums.long), spansAdded: ADDED }
}

/** Creates a trace, and the exports that add to it. The trace has no root, so that it keeps running. */
function makeTrace(size: Size): { readonly stored: LongTrace; readonly more: readonly Uint8Array[] } {
  const { spans, exportsEach } = SIZES[size]
  const whole = longTrace(spans + ADDED * exportsEach + 1, 400)
  const stored = { ...whole, spans: whole.spans.slice(0, spans) }
  const more = [...exportsOf({ ...whole, spans: whole.spans.slice(spans, -1) }, ADDED)]
  return { stored, more }
}

const none = () => ({ node: 0, postgres: 0, walBytes: 0, exports: 0 })

function costOf(size: Size, { node, postgres, walBytes, exports }: ReturnType<typeof none>): GrowthCost {
  const { spans } = SIZES[size]
  return { spans, node: node / exports, postgres: postgres / exports, walBytes: walBytes / exports }
}

async function readWal(sql: Sql): Promise<number> {
  const [row] = await sql<[{ bytes: number }]>`
    select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as bytes`
  return row.bytes
}
