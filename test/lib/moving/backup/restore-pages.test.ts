import t, { type Test } from 'tap'
import { decodePage, encodePage } from '../../../../lib/moving/backup/format.ts'
import { unpackSpans } from '../../../../lib/rows/packed-texts.ts'
import { RowCursor } from '../../../../lib/store/instance/row-cursor.ts'
import { PAGE_COLUMNS, type StoredPage } from '../../../../lib/store/instance/stored-page.ts'
import { ingestBody, span } from '../../../fixtures/bodies/bodies.ts'
import {
  backupOf,
  bytesOf,
  fullInstance,
  inPieces,
  linesOf,
  restore,
  resummed
} from '../../../fixtures/database/backups.ts'
import { type TestDatabase, testDatabase } from '../../../fixtures/database/database.ts'
import { testService } from '../../../fixtures/service/service.ts'

const PROSE = 'She asked for the order and was told that it had not been sent. '

/** Starts a service with a few traces whose texts are packed, and returns its backup. */
async function packedInstance(t: Test) {
  const service = await testService(t)
  for (let n = 0; n < 3; n++) {
    const inputs = [0, 1, 2, 3].map(i => `${n} ${i} ${PROSE.repeat(20)}`)
    const body = ingestBody({ spans: inputs.map(input => span({ input })), input: inputs[0] })
    const { status } = await service.call('POST', '/api/v1/traces', { body })
    t.equal(status, 201)
  }
  return linesOf(await backupOf(service.database))
}

const rowsAt = (lines: readonly string[]): number => lines.findIndex(line => line.startsWith('{"rows"'))

/** Changes the first page of a backup, and the checksum accordingly. */
function withPage(lines: readonly string[], change: (page: StoredPage) => Partial<StoredPage>): Buffer {
  const at = rowsAt(lines)
  const page = decodePage(Buffer.from(lines[at]!))!
  const { count } = JSON.parse(lines[at]!).rows
  return resummed(
    lines.with(
      at,
      encodePage({ ...page, ...change(page) }, count)
        .toString()
        .trimEnd()
    )
  )
}

/** Replaces the only occurrence of a text with another of the same length. */
function replaced(bytes: Buffer, text: string, other: string): Buffer {
  const changed = Buffer.from(bytes)
  changed.write(other, changed.indexOf(text), 'latin1')
  return changed
}

/** Breaks off the restore of a backup in front of its audit, so that all traces are stored. */
async function restoreTraces(t: Test, database: TestDatabase, lines: readonly string[]): Promise<void> {
  const source = async function* () {
    yield* inPieces(
      bytesOf(
        lines.slice(
          0,
          lines.findIndex(line => line.startsWith('{"sum"'))
        )
      )
    )
    throw new Error('the power went')
  }
  await t.rejects(restore(t, database, source()), { message: 'the power went' })
}

t.test('an edited page is refused, although the checksum was edited as well', async t => {
  const lines = linesOf(await backupOf((await fullInstance(t)).database))
  const cases: [string, (page: StoredPage) => Partial<StoredPage>, RegExp][] = [
    ['a kind of span', ({ spans }) => ({ spans: replaced(spans, 'llm', 'lll') }), /has a span of an unknown kind/],
    ['a status', ({ traces }) => ({ traces: replaced(traces, 'unset', 'upset') }), /a page has an unknown status/],
    ['half a row', ({ spans }) => ({ spans: spans.subarray(0, -3) }), /a page ends within a row/],
    ['no spans', () => ({ spans: Buffer.alloc(0) }), /a page has 0 rows for the span_count of trace/],
    ['no traces', () => ({ traces: Buffer.alloc(0) }), /a page has rows without a trace/],
    ['other bytes', () => ({ traces: Buffer.from('what is this') }), /a page has a malformed row/],
    [
      'no UTF-8',
      ({ spans }) => ({ spans: replaced(spans, 'step', '\xff\xff\xff\xff') }),
      /trace \w{32} .* cannot be restored/
    ],
    [
      'no JSON',
      ({ traces }) => ({ traces: replaced(traces, '{"name":[1', '{"name":(1') }),
      /cannot be restored: .*json/
    ]
  ]
  for (const [title, change, message] of cases) {
    const copy = await testDatabase(t)
    await t.rejects(restore(t, copy, withPage(lines, change)), { name: 'AdminError', message }, title)
    t.same(await copy.pool.run(sql => sql`select from api_keys`), [], 'nobody gets in')
  }
})

t.test('packed texts that cannot be unpacked are refused', async t => {
  const lines = await packedInstance(t)
  const copy = await testDatabase(t)
  const backup = withPage(lines, ({ spans }) => {
    const changed = Buffer.from(spans)
    const row = new RowCursor(changed, PAGE_COLUMNS.spans)
    t.ok(row.next())
    // A slice begins with its number and its group.
    row.slice('packed')!.fill(0xff, 10)
    return { spans: changed }
  })
  await t.rejects(restore(t, copy, backup), {
    name: 'AdminError',
    message: /a page has texts of trace \w{32} that cannot/
  })
})

/** Stores all texts unpacked, and the traces' own inputs in the traces' rows. */
async function unpackAll({ pool }: TestDatabase): Promise<void> {
  await pool.run(async sql => {
    const rows = await sql<{ seq: number; id: string; packed: string | null; input: string | null }[]>`
      select trace_seq as seq, id, packed, input from spans order by trace_seq, id`
    for (const { seq } of await sql<{ seq: number }[]>`select seq from traces`) {
      for (const { id, input } of await unpackSpans(rows.filter(row => row.seq === seq))) {
        await sql`update spans set packed = null, input = ${input}::text::json where trace_seq = ${seq} and id = ${id}`
        await sql`
          update traces set input = ${input}::text::json, input_span_id = null, input_bytes = null
          where seq = ${seq} and input_span_id = ${id}`
      }
    }
  })
}

t.test('texts stay packed, and a restore goes on although the stored texts were packed in another way', async t => {
  const lines = await packedInstance(t)
  const copy = await testDatabase(t)
  await restoreTraces(t, copy, lines)
  const count = (condition: string) =>
    copy.pool.run(
      async sql =>
        (
          await sql.unsafe(
            `select from spans s join traces t on t.project_id = s.project_id and t.seq = trace_seq ${condition}`
          )
        ).length
    )
  t.equal(await count('where packed is not null and input_span_id is not null'), 12)
  await unpackAll(copy)
  t.equal(await count('where s.input is not null and t.input is not null'), 12)
  t.match(await restore(t, copy, bytesOf(lines)), { resumed: true, counts: { traces: 3, spans: 12 } })
})

t.test('a trace that is stored with other content is named as different', async t => {
  const lines = await packedInstance(t)
  for (const change of [
    `update spans set name = 'other'`,
    `update traces set metadata = '{"a":1}'`,
    'delete from spans'
  ]) {
    const copy = await testDatabase(t)
    await restoreTraces(t, copy, lines)
    await copy.pool.run(sql => sql.unsafe(change))
    await t.rejects(restore(t, copy, bytesOf(lines)), {
      name: 'AdminError',
      message: /project 1 of the backup was not restored exactly/
    })
  }
})
