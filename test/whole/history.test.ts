import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { end, label, object, some, span, start } from '../fixtures/bodies/arbitrary-bodies.ts'
import { Model, type Told } from '../fixtures/bodies/model.ts'
import { exportOf, otlpSpan } from '../fixtures/bodies/otlp.ts'
import { countOrphans, countStrays, NO_ORPHANS, NO_STRAYS } from '../fixtures/database/seed.ts'
import { type Answer, type TestService, testService } from '../fixtures/service/service.ts'
import { runs } from '../torture/orders.ts'

const IDS = ['a'.repeat(32), 'b'.repeat(32)]
const otlp = fc
  .tuple(fc.nat(7), fc.nat(2), some({ parentSpanId: fc.constant('f'.repeat(16)), name: label, status: fc.nat(2) }))
  .map(([n, start, over]) => ({ spanId: `${n + 1}`.padStart(16, '0'), start, ...over }))
const score = fc
  .tuple(
    fc.constantFrom('quality', 'tone'),
    fc.constantFrom(
      { dataType: 'numeric', value: 0.5 },
      { dataType: 'categorical', value: '' },
      { dataType: 'boolean', value: false }
    ),
    some({ comment: fc.constant('why'), spanId: fc.constant('0'.repeat(16)) })
  )
  .map(([name, value, over]) => ({ name, ...value, ...over }))

/** One request of a history. It is sent to the service and applied to the model. */
interface Step {
  readonly id: string
  send(service: TestService, model: Model): Promise<Answer>
  tell(model: Model): Told
}

const post = (path: string, body: unknown) => (service: TestService) =>
  service.call('POST', `/api/v1/traces${path}`, { body })
const id = fc.constantFrom(...IDS)

/** Sends an export. Returns its response in the form of the other responses. */
async function sendExport(service: TestService, body: object): Promise<Answer> {
  const answer = await service.call('POST', '/api/v1/otlp/v1/traces', { body })
  const rejectedSpans = Number(answer.body.partialSuccess?.rejectedSpans ?? 0)
  return { ...answer, body: { ok: true, rejectedSpans } }
}

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(id, start).map(([id, trace]) => {
      const body = { schemaVersion: 1, trace: { id, ...trace } }
      return { id, send: post('', body), tell: (model: Model) => model.record(body) }
    })
  },
  {
    weight: 4,
    arbitrary: fc.tuple(id, fc.array(span, { minLength: 1, maxLength: 4 })).map(([id, list]) => {
      const body = { schemaVersion: 1, spans: list }
      return { id, send: post(`/${id}/spans`, body), tell: (model: Model) => model.append(id, body) }
    })
  },
  {
    weight: 4,
    arbitrary: fc.tuple(id, fc.array(fc.tuple(id, otlp), { minLength: 1, maxLength: 4 })).map(([id, list]) => {
      const body = exportOf(...list.map(([traceId, span]) => otlpSpan({ traceId, ...span })))
      return {
        id,
        send: (service: TestService) => sendExport(service, body),
        tell: (model: Model) => model.export(body)
      }
    })
  },
  {
    weight: 2,
    arbitrary: fc.tuple(id, end).map(([id, body]) => {
      return { id, send: post(`/${id}/end`, body), tell: (model: Model) => model.end(id, body) }
    })
  },
  {
    weight: 2,
    arbitrary: fc.tuple(id, object).map(([id, metadata]) => {
      const body = { metadata }
      const send = (service: TestService) => service.call('PATCH', `/api/v1/traces/${id}`, { body })
      return { id, send, tell: (model: Model) => model.patch(id, body) }
    })
  },
  {
    weight: 2,
    arbitrary: fc.tuple(id, score).map(([id, body]) => {
      return { id, send: post(`/${id}/scores`, body), tell: (model: Model) => model.addScore(id, body) }
    })
  },
  {
    weight: 1,
    arbitrary: fc.tuple(id, fc.nat(3)).map(([id, n]) => {
      const chosen = (model: Model) => model.scoreIds(id)[n] ?? 'f'.repeat(16)
      const send = (service: TestService, model: Model) =>
        service.call('DELETE', `/api/v1/traces/${id}/scores/${chosen(model)}`)
      return { id, send, tell: (model: Model) => model.deleteScore(id, chosen(model)) }
    })
  },
  {
    weight: 1,
    arbitrary: id.map(id => {
      const send = (service: TestService) => service.call('DELETE', `/api/v1/traces/${id}`)
      return { id, send, tell: (model: Model) => model.delete(id) }
    })
  }
)

/** A history in which some requests are repeated later. */
const history = fc
  .array(step, { minLength: 4, maxLength: 25 })
  .chain(steps =>
    fc.array(fc.nat(steps.length - 1), { maxLength: 8 }).map(again => [...steps, ...again.map(i => steps[i] as Step)])
  )

/** Fails unless `found` has every field of `expected` with the same value. */
function assertHas(found: Record<string, unknown>, expected: Readonly<Record<string, unknown>>): void {
  const chosen = Object.fromEntries(Object.keys(expected).map(key => [key, found[key]]))
  assert.deepEqual(chosen, expected)
}

async function take(service: TestService, model: Model, { id, send, tell }: Step): Promise<void> {
  const answer = await send(service, model)
  const told = tell(model)
  assert.equal(answer.status, told.status, answer.text)
  if (typeof told.answer === 'string') {
    assert.equal(answer.body.error.code, told.answer)
    return
  }
  const { score, ...fields } = told.answer as Record<string, Record<string, unknown>>
  assertHas(answer.body, { ok: true, ...fields })
  if (score === undefined) return
  assertHas(answer.body.score, score)
  model.nameScore(id, answer.body.score.id)
}

/** Compares a trace's detail with the model. */
async function compare(service: TestService, model: Model, id: string): Promise<void> {
  const { status, body } = await service.call('GET', `/api/v1/traces/${id}`)
  const expected = model.detail(id)
  assert.equal(status, expected === undefined ? 404 : 200)
  if (expected === undefined) return
  assertHas(body.trace, expected.trace)
  assert.equal(body.trace.metadataUpdatedAt !== null, expected.patched)
  assert.equal(body.spans.length, expected.spans.length)
  for (const [i, span] of expected.spans.entries()) assertHas(body.spans[i], span)
  assert.equal(body.scores.length, expected.scores.length)
  for (const [i, score] of expected.scores.entries()) assertHas(body.scores[i], score)
}

/** Compares the list of all traces. */
async function compareList(service: TestService, model: Model): Promise<void> {
  const { body } = await service.call('GET', '/api/v1/traces')
  const details = IDS.flatMap(id => model.detail(id) ?? [])
  assert.equal(body.traces.length, details.length)
  for (const { trace } of details) {
    const { input, output, metadata, ...fields } = trace
    const summary = body.traces.find((each: { id: string }) => each.id === trace.id)
    assertHas(summary, fields)
  }
}

t.test('random histories, through two servers, agree with a model in every response and every read', async t => {
  const service = await testService(t)
  const other = await testService(t, { database: service.database })
  const turn = fc.constantFrom(service, service, service, other)
  const turns = fc.array(turn, { minLength: 40, maxLength: 40 })
  await fc.assert(
    fc
      .asyncProperty(history, turns, async (steps, turns) => {
        const model = new Model()
        for (const [i, each] of steps.entries()) {
          await take(turns[i] as TestService, model, each)
          await compare(service, model, each.id)
          await compareList(service, model)
        }
        for (const id of IDS) await compare(service, model, id)
        const project = await service.call('GET', '/api/v1/project')
        assertHas(project.body, model.totals())
        assert.deepEqual(await service.database.pool.run(countStrays), NO_STRAYS)
        assert.deepEqual(await service.database.pool.run(countOrphans), NO_ORPHANS)
      })
      .afterEach(async () => {
        for (const id of IDS) await service.call('DELETE', `/api/v1/traces/${id}`)
      }),
    runs(15)
  )
})
