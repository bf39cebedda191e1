/** Checks that texts in any characters are stored and read back, however a client spells them. */
import t from 'tap'
import { endBody, ingestBody, LATER, span, spanId, spansBody, startBody } from '../../fixtures/bodies/bodies.ts'
import { withEscapes } from '../../fixtures/bodies/plain-texts.ts'
import { testService } from '../../fixtures/service/service.ts'

const { call } = await testService(t)
const TRACES = '/api/v1/traces'
const TEXT = 'é, 東京, 😀, \u0080, \u2028 and "quotes"\n'
const FREE = { input: TEXT, output: { [TEXT]: [TEXT, 'a'] } }

const step = (more: object = {}) =>
  span({
    ...{ ...FREE, name: TEXT, model: TEXT, provider: TEXT, attributes: { [TEXT]: TEXT }, ...more },
    events: [{ name: TEXT, timestamp: LATER, attributes: { [TEXT]: TEXT } }]
  })
const fields = { name: TEXT, model: TEXT, provider: TEXT, tags: [TEXT, 'b'], metadata: { [TEXT]: TEXT } }
const people = { sessionId: TEXT, userId: TEXT }

async function post(path: string, body: object, expected: number): Promise<void> {
  const { status, text } = await call('POST', path, { body })
  t.equal(status, expected, text)
  const resent = await call('POST', path, { body: withEscapes(body) })
  t.equal(resent.status, 200, `the same with escapes: ${resent.text}`)
}

async function read(id: string) {
  const { status, body } = await call('GET', `${TRACES}/${id}`)
  t.equal(status, 200)
  return body
}

for (const [name, repeats] of [
  ['short texts', 1],
  ['packed texts', 300]
] as const) {
  t.test(`a recorded trace: ${name}`, async t => {
    const long = { attributes: { long: TEXT.repeat(repeats) } }
    const body = ingestBody({ ...fields, ...people, ...FREE, spans: [step(long), step()] })
    await post(TRACES, body, 201)
    const { trace, spans } = await read(body.trace.id)
    t.match(trace, { ...fields, ...people, ...FREE })
    t.match(spans.toSorted(byId), body.trace.spans.toSorted(byId))
  })
}

t.test('a running trace, its spans and its end', async t => {
  const start = startBody({ ...fields, ...people, input: TEXT })
  const { id } = start.trace
  await post(TRACES, start, 201)
  const steps = [step({ id: spanId() }), step({ attributes: { long: TEXT.repeat(300) } })]
  await post(`${TRACES}/${id}/spans`, spansBody(...steps), 200)
  await post(`${TRACES}/${id}/end`, endBody({ output: FREE.output, metadata: { end: TEXT }, tags: ['c', TEXT] }), 200)
  const { trace, spans } = await read(id)
  t.match(trace, { ...fields, ...FREE, metadata: { [TEXT]: TEXT, end: TEXT }, tags: [TEXT, 'b', 'c'] })
  t.match(spans.toSorted(byId), steps.toSorted(byId))
})

const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1)
