import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Sql } from 'postgres'
import t from 'tap'
import { SCHEMA_NAMES } from '../../../../lib/database/tables.ts'
import type { ListWriter } from '../../../../lib/limits/list-writer.ts'
import { readSpanPages } from '../../../../lib/store/answers/span-pages.ts'
import { DETAIL_PARTS } from '../../../../lib/store/answers/trace-json.ts'
import { readSizedTrace, readTraceDetail, type SizedSpan, streamTrace } from '../../../../lib/store/answers/traces.ts'
import { addMessages } from '../../../../lib/store/trace/messages.ts'
import type { PlacedMessages } from '../../../../lib/trace/span-messages.ts'
import { hexId } from '../../../fixtures/bodies/bodies.ts'
import { exportOf, otlpSpan } from '../../../fixtures/bodies/otlp.ts'
import { freshId } from '../../../fixtures/database/seed.ts'
import { testService } from '../../../fixtures/service/service.ts'
import { runs } from '../../../torture/orders.ts'

t.test('a page has at most half a mebibyte of texts, unless a single span has more', async t => {
  const { call, database } = await testService(t)
  const span = fc.record({ bytes: fc.constantFrom(10, 3000, 200_000, 700_000), isRandom: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(fc.array(span, { minLength: 1, maxLength: 12 }), fc.nat(12), async (given, cut) => {
      const traceId = freshId(32)
      const sent = given.map(({ bytes, isRandom }, i) => {
        const text = isRandom ? hexId(bytes / 2) : 'again and '.repeat(bytes / 10)
        return otlpSpan({ traceId, spanId: freshId(16), start: i, attributes: { text } })
      })
      for (const portion of [sent.slice(0, cut), sent.slice(cut)]) {
        if (portion.length > 0) await call('POST', '/api/v1/otlp/v1/traces', { body: exportOf(...portion) })
      }
      await database.pool.run(async sql => {
        const [row] = await sql<{ seq: number }[]>`select seq from traces where id = ${traceId}`
        const place = { projectId: 1, traceSeq: row!.seq, names: SCHEMA_NAMES }
        const read: string[] = []
        for await (const { spans } of readSpanPages(sql, place)) {
          const bytes = spans.reduce((sum, span) => sum + (span.attributes?.length ?? 0), 0)
          assert.ok(spans.length === 1 || bytes <= 512 * 1024, `${bytes} bytes`)
          read.push(...spans.map(({ id }) => id))
        }
        assert.deepEqual(
          read,
          sent.map(({ spanId }) => spanId)
        )
      })
    }),
    runs(5)
  )
})

/** Texts that are packed in slices, packed in a single slice, and not packed. */
const TEXTS = [
  (n: number) => `${n} ${'all work and no play '.repeat(60)}é😀`,
  (n: number) => `${n} ${Array.from({ length: 2500 }, (_, i) => ((i * n * 7919) % 65521).toString(36)).join('')}`,
  (n: number) => `short ${n}`
]

type Said = { field: string; bytes: number; ofCall: number; micros: number }

function messageOf(traceId: string, spanId: string, { field, bytes, ofCall, micros }: Said): PlacedMessages {
  const text = JSON.stringify([`é${'a'.repeat(bytes)}`])
  return {
    ...{ traceId, spanId, micros, place: 0, digest: freshId(32), input: null, output: null, event: null },
    ...(field === 'event' ? { event: `{"name":"e","timestamp":"","attributes":{}}` } : { [field]: text }),
    call: ofCall === 0 ? null : `request:r${ofCall}`
  }
}

t.test('a trace that is read in pages is the same, however it was packed', async t => {
  const { call, database } = await testService(t)
  const said = fc.record({
    ...{ field: fc.constantFrom('input', 'output', 'event'), bytes: fc.constantFrom(1, 200_000) },
    ...{ ofCall: fc.nat(3), micros: fc.nat(3) }
  })
  const span = fc.record({
    ...{ start: fc.nat(30), kind: fc.nat(TEXTS.length - 1), isBare: fc.boolean() },
    ...{ hasParent: fc.boolean(), isTool: fc.boolean(), call: fc.nat(3), said: fc.array(said, { maxLength: 2 }) }
  })
  const exports = fc.array(fc.array(span, { minLength: 1, maxLength: 20 }), { minLength: 1, maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(exports, fc.integer({ min: 1, max: 20 }), async (portions, limit) => {
      const traceId = freshId(32)
      for (const [i, portion] of portions.entries()) {
        const messages: PlacedMessages[] = []
        const sent = portion.map(({ start, kind, isBare, hasParent, isTool, call, said }, n) => {
          const spanId = freshId(16)
          messages.push(...said.map(each => messageOf(traceId, spanId, each)))
          const attributes = {
            ...(!isBare && { text: TEXTS[kind]!(n * 31 + i) }),
            ...(call > 0 && { 'gen_ai.response.id': `r${call}` }),
            ...(isTool && { 'gen_ai.operation.name': 'execute_tool' })
          }
          return otlpSpan({ traceId, spanId, start, attributes, ...(hasParent && { parentSpanId: 'a'.repeat(16) }) })
        })
        await call('POST', '/api/v1/otlp/v1/traces', { body: exportOf(...sent) })
        await database.pool.run(sql => addMessages(sql, 1, messages))
      }
      await database.pool.run(async sql => {
        const read = (needs?: (id: string, count: number) => boolean) => readParts(sql, traceId, needs)
        const { head, items, foot } = await read()
        const text = `${head}${items.map(item => item.text).join(',')}${foot}`
        assert.equal(Buffer.from(text, 'latin1').toString(), await readTraceDetail(sql, 1, traceId))

        const sized = await readSizedTrace(sql, 1, traceId)
        assert.deepEqual((await readSizedPages(sql, traceId, limit)).map(withoutTexts), sized!.spans.map(withoutTexts))

        const isNeeded = (id: string, count: number) => count === items.length && id < '8'
        const shown = await read(isNeeded)
        assert.deepEqual([shown.head, shown.foot], [head, foot])
        assert.deepEqual(
          shown.items.map(({ bytes }) => bytes),
          items.map(item => item.text.length)
        )
        for (const [i, item] of shown.items.entries()) {
          const id = /^\{"id":"(\w+)"/.exec(item.text)![1]!
          if (isNeeded(id, items.length)) assert.equal(item.text, items[i]!.text)
        }
      })
    }),
    { ...runs(5), endOnFailure: true }
  )
  await t.rejects(
    database.pool.run(sql => readParts(sql, freshId(32))),
    /no such trace/
  )
})

/** A short trace that is read at once has its texts beside their sizes. */
const withoutTexts = (span: SizedSpan) => ({
  ...span,
  ...{ packed: null, input: null, output: null, attributes: null, events: null }
})

async function readSizedPages(sql: Sql, traceId: string, limit: number) {
  const spans: SizedSpan[] = []
  for (let after: string | undefined; ; after = spans.at(-1)!.id) {
    const page = await readSizedTrace(sql, 1, traceId, SCHEMA_NAMES, { after, limit })
    spans.push(...page!.spans)
    assert.equal(page!.hasMore, spans.length < page!.trace.spanCount)
    if (!page!.hasMore) return spans
    assert.equal(page!.spans.length, limit)
  }
}

async function readParts(sql: Sql, traceId: string, needs?: (id: string, count: number) => boolean) {
  const [head, foot]: [string[], string[]] = [[], []]
  const items: { text: string; bytes: number }[] = []
  const writer: ListWriter = {
    head: async text => void head.push(text),
    item: async (text, bytes) => void items.push({ text, bytes }),
    foot: async text => void foot.push(text)
  }
  if (!(await streamTrace(sql, 1, traceId, DETAIL_PARTS, writer, needs))) {
    assert.deepEqual([head, items, foot], [[], [], []])
    throw new Error('no such trace')
  }
  return { head: head.join(), items, foot: foot.join() }
}
