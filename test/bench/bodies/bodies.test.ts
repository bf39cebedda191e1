import t from 'tap'
import { checker } from '../../../lib/schema/check.ts'
import { EndBody, IngestBody, SpansBody } from '../../../lib/schema/input.ts'
import { prepare } from '../../../lib/trace/prepare.ts'
import { type BodyKind, ingestBody, SHAPES, streamedBodies } from './bodies.ts'

const VARIANTS = 4
const bytesOf = (body: unknown) => Buffer.from(JSON.stringify(body))

for (const kind of Object.keys(SHAPES) as BodyKind[]) {
  t.test(`${kind} bodies are valid, and have the promised size`, async t => {
    const schema = checker(IngestBody)
    for (let variant = 0; variant < VARIANTS; variant++) {
      const body = ingestBody(kind, variant)
      t.ok(schema.check(body), schema.check(body) ? '' : schema.explain(body))
      t.equal(bytesOf(body).length, SHAPES[kind].bytes)
      const prepared = prepare('record', bytesOf(body))
      t.equal(prepared.spans.length, SHAPES[kind].spans)
      t.equal(prepared.status, 'ok')
    }
  })
}

t.test('bodies are identical each time, and differ between variants', async t => {
  t.strictSame(ingestBody('typical', 3), ingestBody('typical', 3))
  t.notSame(ingestBody('typical', 3), ingestBody('typical', 4))
})

t.test('a stored trace is found in the position of the typical trace', async t => {
  const found = (kind: BodyKind, variant: number) => {
    const { name, model, status, tags, userId, costUsd, startedAt, endedAt } = ingestBody(kind, variant).trace
    return { name, model, status, tags, userId, costUsd, startedAt, endedAt }
  }
  for (let variant = 0; variant < VARIANTS; variant++) t.strictSame(found('stored', variant), found('typical', variant))
})

t.test('a streamed trace has the spans of the whole trace, two at a time', async t => {
  const { start, appends, end } = streamedBodies(0)
  t.ok(checker(IngestBody).check(start))
  t.equal(prepare('record', bytesOf(start)).endedAt, null)
  for (const body of appends) {
    t.ok(checker(SpansBody).check(body))
    t.equal(prepare('append', bytesOf(body)).spans.length, 2)
  }
  t.ok(checker(EndBody).check(end))
  t.equal(prepare('end', bytesOf(end)).status, 'ok')
  t.strictSame(
    appends.flatMap(({ spans }) => spans),
    ingestBody('typical', 0).trace.spans
  )
})
