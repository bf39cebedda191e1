/**
 * The upper limit with which ingest is compared: COPY of the same rows, prepared in advance, into the same tables with
 * the same indexes. README.md explains how the limit is measured, and why the comparison is fair.
 */
import { performance } from 'node:perf_hooks'
import { connectTo, type DatabaseTarget } from '../../../lib/database/connection.ts'
import { CopyConnection } from '../../../lib/database/copy-connection.ts'
import { SPAN_COLUMNS, TAG_COLUMNS, TRACE_COLUMNS } from '../../../lib/rows/columns.ts'
import { createIdentities, createTemplate, type Identities, type Template } from '../bodies/template.ts'
import type { Window } from '../load/load.ts'
import { type CopyRows, namesOf } from './copy-rows.ts'

/** Bounds of a batch, which is one transaction. Larger batches gain nothing, and smaller batches commit more often. */
const BATCH = { traces: 64, bytes: 4 * 1024 * 1024 }
/** Slots of project_totals that no server uses. */
const FIRST_SLOT = 1_000

export interface CopyPlan {
  readonly target: DatabaseTarget
  /** Rows that are copied in turn. */
  readonly rows: readonly CopyRows[]
  readonly projectId: number
  /** The first number that is free for traces.seq. */
  readonly firstNumber: number
  /** Number of connections, each of which copies one batch after another. */
  readonly connections: number
}

export interface CopyReport {
  readonly traces: number
  readonly seconds: number
  /** CPU time of this process, in µs. */
  readonly cpuMicros: number
}

/**
 * Copies until the measured period has ended. Counts the traces committed after the first commit that follows the
 * warm-up.
 */
export async function measureCopy(
  plan: CopyPlan,
  { warmUpMs, measureMs }: { readonly warmUpMs: number; readonly measureMs: number },
  window: Window
): Promise<CopyReport> {
  const started = performance.now()
  let began: { at: number; cpu: NodeJS.CpuUsage } | undefined
  let report: CopyReport | undefined
  let traces = 0
  await copy(plan, committed => {
    const now = performance.now()
    if (report !== undefined) return false
    if (began !== undefined) {
      traces += committed
      if (now - began.at < measureMs) return true
      const { user, system } = process.cpuUsage(began.cpu)
      report = { traces, seconds: (now - began.at) / 1_000, cpuMicros: user + system }
      window.closed()
      return false
    }
    if (now - started >= warmUpMs) {
      began = { at: now, cpu: process.cpuUsage() }
      window.opened()
    }
    return true
  })
  return report!
}

/** Copies at least `traces` traces, and at most one additional batch per connection. */
export async function fillByCopy(plan: CopyPlan, traces: number, onProgress: (done: number) => void): Promise<void> {
  let done = 0
  await copy(plan, committed => {
    done += committed
    onProgress(done)
    return done < traces
  })
}

/** Copies batches until `onCommit` returns false. `onCommit` receives the number of traces in each batch. */
async function copy(plan: CopyPlan, onCommit: (traces: number) => boolean): Promise<void> {
  const identities = createIdentities(plan.firstNumber)
  const connections = await Promise.all(Array.from({ length: plan.connections }, () => open(plan.target)))
  try {
    await Promise.all(
      connections.map(async (connection, i) => {
        // Each connection has two batches: while one is in flight, the other is made unique.
        const batches = [...buildBatches(plan, FIRST_SLOT + i), ...buildBatches(plan, FIRST_SLOT + i)]
        for (let turn = 0, isWanted = true; isWanted; turn++) {
          const batch = batches[turn % batches.length]!
          if (turn === 0) stamp(batch, identities)
          const sent = connection.send(batch.bytes)
          stamp(batches[(turn + 1) % batches.length]!, identities)
          await sent
          isWanted = onCommit(batch.traces.length)
        }
      })
    )
  } finally {
    for (const connection of connections) connection.close()
  }
}

async function open(target: DatabaseTarget): Promise<CopyConnection> {
  const connection = await CopyConnection.open((options, socket) => connectTo(target, options, socket), {})
  if (connection === undefined) throw new Error('nothing can be copied to this server')
  return connection
}

/** The messages of one transaction. */
interface Batch {
  readonly bytes: Buffer
  /** For each trace, the templates that receive its identity. They are views of `bytes`. */
  readonly traces: readonly (readonly Template[])[]
}

function stamp(batch: Batch, identities: Identities): void {
  for (const templates of batch.traces) {
    identities.next()
    for (const template of templates) identities.stamp(template)
  }
}

function buildBatches(plan: CopyPlan, slot: number): Batch[] {
  const batches: Batch[] = []
  let rows: CopyRows[] = []
  let bytes = 0
  for (const each of plan.rows) {
    const length = each.trace.length + each.spans.length + each.tags.length
    if (rows.length > 0 && (rows.length === BATCH.traces || bytes + length > BATCH.bytes)) {
      batches.push(buildBatch(plan.projectId, slot, rows))
      rows = []
      bytes = 0
    }
    rows.push(each)
    bytes += length
  }
  return [...batches, buildBatch(plan.projectId, slot, rows)]
}

function buildBatch(projectId: number, slot: number, rows: readonly CopyRows[]): Batch {
  const messages = [
    queryMessage(statements(projectId, slot, rows)),
    ...rows.map(({ trace }) => copyData(trace)),
    copyDone(),
    ...rows.map(({ spans }) => copyData(spans)),
    copyDone(),
    ...rows.map(({ tags }) => copyData(tags)),
    copyDone()
  ]
  const bytes = Buffer.concat(messages)
  const ends: number[] = []
  for (const each of messages) ends.push((ends.at(-1) ?? 0) + each.length)
  const templateOf = (index: number) => createTemplate(bytes.subarray(ends[index - 1], ends[index]))
  return { bytes, traces: rows.map((_, i) => [0, 1, 2].map(table => templateOf(1 + i + table * (rows.length + 1)))) }
}

function statements(projectId: number, slot: number, rows: readonly CopyRows[]): string {
  const sum = (count: (rows: CopyRows) => number) => rows.reduce((total, each) => total + count(each), 0)
  const totals = [projectId, slot, rows.length, sum(each => each.spanCount), sum(each => each.estimatedBytes)]
  return `copy traces (${namesOf(TRACE_COLUMNS)}) from stdin;
    copy spans (${namesOf(SPAN_COLUMNS)}) from stdin;
    copy trace_tags (${namesOf(TAG_COLUMNS)}) from stdin;
    insert into project_totals as p (project_id, slot, traces, spans, bytes) values (${totals.join(', ')})
    on conflict (project_id, slot) do update
    set traces = p.traces + excluded.traces, spans = p.spans + excluded.spans, bytes = p.bytes + excluded.bytes`
}

/** Returns a message of PostgreSQL's protocol. */
function message(type: 'Q' | 'c' | 'd', content: Buffer): Buffer {
  const header = Buffer.alloc(1 + 4)
  header.write(type, 'latin1')
  header.writeUInt32BE(4 + content.length, 1)
  return Buffer.concat([header, content])
}

/** Several statements in one message are one transaction. */
const queryMessage = (statements: string): Buffer => message('Q', Buffer.from(`${statements}\0`))
const copyData = (lines: Buffer): Buffer => message('d', lines)
const copyDone = (): Buffer => message('c', Buffer.alloc(0))
