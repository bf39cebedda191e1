import t from 'tap'
import { LIST_COLUMNS, offsetIn, SPAN_COLUMNS } from '../../../../lib/rows/columns.ts'
import { CopyWriter, fieldWriter, skipFields } from '../../../../lib/rows/copy-format.ts'
import { renderTraceRows, type TraceRows } from '../../../../lib/rows/copy-rows.ts'
import { PageFault } from '../../../../lib/store/instance/row-cursor.ts'
import {
  isSameContent,
  PAGE_COLUMNS,
  type StoredPage,
  tracesInPage
} from '../../../../lib/store/instance/stored-page.ts'
import { prepare } from '../../../../lib/trace/prepare.ts'
import type { PreparedTrace } from '../../../../lib/trace/prepared.ts'
import { ingestBody, span } from '../../../fixtures/bodies/bodies.ts'

const AT = '1969-12-31T23:59:59.999123Z'
const SEQ_AT = offsetIn(SPAN_COLUMNS, 'trace_seq')
const writeStamp = fieldWriter(PAGE_COLUMNS.traces.slice(0, 3), {
  environment: () => 'prod',
  key_id: () => 'key-1',
  ingested_at: () => AT
})

/** Renders a recorded trace as a write does. */
function rowsOf(more: object = {}): TraceRows {
  const text = 'a text of some length, which is packed '.repeat(40)
  const body = ingestBody({
    name: 'näme',
    tags: ['a', 'ü'],
    userId: 'u',
    costUsd: 0.25,
    spans: [span({ kind: 'llm', model: 'm' }), span({ attributes: { text } }), span({ status: 'error' })],
    ...more
  })
  return renderTraceRows(prepare('record', Buffer.from(JSON.stringify(body))), 'prod', false)
}

/** Makes a page of rendered traces, as PostgreSQL would send them once they are stored. */
function pageOf(all: readonly TraceRows[]): StoredPage {
  const traces = new CopyWriter()
  const spans: Buffer[] = []
  for (const [i, { bytes, tags, tagsEnd, spans: starts, scoresEnd }] of all.entries()) {
    traces.int16(PAGE_COLUMNS.traces.length)
    writeStamp(traces, undefined)
    traces.append(bytes.subarray(skipFields(Buffer.from(bytes), 0, LIST_COLUMNS.length), tags[0] ?? tagsEnd))
    const own = Buffer.from(bytes.subarray(scoresEnd))
    for (const start of starts) own.writeBigInt64BE(BigInt(i + 1), start - scoresEnd + SEQ_AT)
    spans.push(own)
  }
  return { traces: Buffer.from(traces.take()), spans: Buffer.concat(spans), scores: Buffer.alloc(0) }
}

t.test('a copied trace has the rows with which it was recorded', t => {
  const recorded = [rowsOf(), rowsOf({ endedAt: undefined, status: undefined, spans: [] }), rowsOf({ tags: [] })]
  const copied = [...tracesInPage(pageOf(recorded))]
  t.equal(copied.length, 3)
  for (const [i, { rows, ...trace }] of copied.entries()) {
    const { bytes, ...places } = recorded[i]!
    const { bytes: found, ...foundPlaces } = rows
    t.same(foundPlaces, places)
    const own = Buffer.from(found)
    for (const start of rows.spans) own.writeBigInt64BE(0n, start + SEQ_AT)
    t.equal(own.compare(bytes), 0)
    t.match(trace, { running: i === 1, spanCount: i === 1 ? 0 : 3, copied: { environment: 'prod', keyId: 'key-1' } })
    t.equal(trace.copied.ingestedAt, AT)
  }
  t.end()
})

t.test('any byte that is cut off is noticed', t => {
  const page = pageOf([rowsOf()])
  for (const name of ['traces', 'spans'] as const) {
    for (let length = 0; length < page[name].length; length++) {
      const cut = { ...page, [name]: page[name].subarray(0, length) }
      t.throws(() => [...tracesInPage(cut)], PageFault)
    }
  }
  t.end()
})

t.test('a trace that accepts further spans has the hashes of its spans', t => {
  const running = { endedAt: undefined, status: undefined }
  const prepared = (more: object) =>
    prepare('record', Buffer.from(JSON.stringify(ingestBody({ spans: [span()], ...more }))))
  const without = (trace: PreparedTrace): TraceRows => {
    const spans = trace.spans.map(each => ({ ...each, hash: null }))
    return renderTraceRows({ ...trace, spans }, 'prod', false)
  }
  t.equal([...tracesInPage(pageOf([without(prepared({})), rowsOf(running)]))].length, 2)
  for (const trace of [prepared(running), { ...prepared({}), ranks: '{}' }]) {
    const read = () => [...tracesInPage(pageOf([rowsOf(running), without(trace)]))]
    t.throws(read, new PageFault(`has spans without a hash in trace ${trace.traceId}, which accepts further spans`))
  }
  t.end()
})

t.test('pages with other content differ', t => {
  const [one, other] = [rowsOf({ id: 'ab'.repeat(16) }), rowsOf({ id: 'ab'.repeat(16), metadata: { n: 1 } })]
  t.equal(isSameContent(pageOf([one]), pageOf([one])), true)
  t.equal(isSameContent(pageOf([one]), pageOf([other])), false)
  t.equal(isSameContent(pageOf([one, one]), pageOf([one])), false)
  t.end()
})

t.test('the columns of a page are those of format 2', t => {
  // If this fails, existing backups can no longer be restored. Give the new columns a new format, and convert pages of
  // the former one (lib/moving/backup/format.ts).
  const names = (columns: readonly { readonly name: string; readonly type: string }[]) =>
    columns.map(({ name, type }) => `${name} ${type}`).join(', ')
  t.same(Object.values(PAGE_COLUMNS).map(names), [
    'environment text, key_id text, ingested_at timestamptz, id uuid, span_count int, error_count int, ' +
      'score_count int, started_at timestamptz, ended_at timestamptz, metadata_updated_at timestamptz, ' +
      'duration_ms bigint, input_tokens bigint, output_tokens bigint, total_tokens bigint, cost_usd float8, ' +
      'is_run boolean, document_bytes int, estimated_bytes bigint, status text, body_hash bytea, end_hash ' +
      'bytea, ranks json, metadata json, name text, provider text, model text, session_id text, user_id ' +
      'text, tags text[], input json, output json, input_span_id bytea, output_span_id bytea, input_bytes ' +
      'int, output_bytes int',
    'project_id int, trace_seq bigint, input json, output json, attributes json, events json, packed ' +
      'bytea, id bytea, parent_id bytea, hash bytea, kind text, status text, started_at timestamptz, ' +
      'ended_at timestamptz, input_tokens bigint, output_tokens bigint, total_tokens bigint, cost_usd ' +
      'float8, name text, provider text, model text, call_details json',
    'project_id int, trace_seq bigint, id bytea, span_id bytea, data_type text, value json, source text, ' +
      'created_at timestamptz, name text, comment text, evaluator_id text, run_id text'
  ])
  t.end()
})
