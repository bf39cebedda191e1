import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { anyJson, anyObject, writeJson } from '../../fixtures/bodies/odd-json.ts'
import { exportLines, type Importer, projectRows, testImporter } from '../../fixtures/database/moving.ts'
import { setEnvironment } from '../../fixtures/database/seed.ts'
import { type TestService, testService } from '../../fixtures/service/service.ts'
import { runs } from '../../torture/orders.ts'

const some = <T extends Record<string, fc.Arbitrary<unknown>>>(fields: T) => fc.record(fields, { requiredKeys: [] })
const hex = (digits: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: digits, maxLength: digits })
const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }).filter(text => !text.includes('\u0000'))
const time = (second: number) =>
  fc.constantFrom('', '.5', '.000001Z', '.123456789+00:00', '.25Z').map(rest => `2026-01-01T12:00:0${second}${rest}`)
const usage = some({ inputTokens: fc.nat(), outputTokens: fc.nat(), totalTokens: fc.maxSafeNat() })
const costUsd = fc.double({ min: 0, max: 1e9, noNaN: true })
const tags = fc.array(text, { maxLength: 4 })

const span = fc
  .tuple(
    hex(16),
    some({
      parentSpanId: fc.oneof(hex(16), fc.constant(null)),
      kind: fc.constantFrom('llm', 'tool'),
      status: fc.constantFrom('ok', 'error', 'unset'),
      provider: text,
      model: text,
      input: anyJson,
      output: anyJson,
      attributes: anyObject,
      events: fc.array(
        fc
          .tuple(some({ attributes: anyObject }), text)
          .map(([over, name]) => ({ name, timestamp: '2026-01-01 12:00:00.1', ...over })),
        { maxLength: 2 }
      ),
      usage,
      costUsd
    }),
    text,
    time(1),
    time(5)
  )
  .map(([id, over, name, startedAt, endedAt]) => ({ id, name, startedAt, endedAt, ...over }))
const spans = fc.uniqueArray(span, { selector: each => each.id, maxLength: 3 })

const recording = fc
  .tuple(
    hex(32),
    text,
    time(0),
    some({
      provider: text,
      model: text,
      sessionId: text,
      userId: text,
      tags,
      input: anyJson,
      output: anyJson,
      metadata: anyObject,
      usage,
      costUsd
    }),
    spans
  )
  .map(([id, name, startedAt, over, spans]) => ({ id, name, startedAt, spans, ...over }))

const end = fc
  .tuple(
    time(7),
    some({
      status: fc.constantFrom('ok', 'error'),
      provider: text,
      output: anyJson,
      usage,
      costUsd,
      metadata: anyObject,
      tags
    })
  )
  .map(([endedAt, over]) => ({ schemaVersion: 1, endedAt, ...over }))

const score = fc
  .tuple(
    fc.constantFrom('quality', 'tone'),
    fc.oneof(
      fc.double({ noDefaultInfinity: true, noNaN: true }).map(value => ({ dataType: 'numeric', value })),
      text.map(value => ({ dataType: 'categorical', value })),
      fc.boolean().map(value => ({ dataType: 'boolean', value }))
    ),
    some({ comment: text, spanId: hex(16) })
  )
  .map(([name, value, over]) => ({ name, ...value, ...over }))

/** The requests for one trace, and whether its row is then changed to a form that only earlier versions wrote. */
const life = fc.record({
  environment: fc.constantFrom('prod', 'unassigned', 'not recorded'),
  recording,
  complete: fc.boolean(),
  appended: spans,
  end: fc.option(end, { nil: undefined }),
  patch: fc.option(anyObject, { nil: undefined }),
  scores: fc.array(score, { maxLength: 4 }),
  isOld: fc.boolean()
})
type Life = typeof life extends fc.Arbitrary<infer T> ? T : never

const bodyOf = ({ recording, complete }: Life) => {
  const end = complete ? { endedAt: '2026-01-01T12:00:09Z', status: 'ok' } : {}
  return { schemaVersion: 1, trace: { ...recording, ...end } }
}

/** Returns those of a history's requests that may be repeated, each as [path, body]. */
function requestsOf(life: Life): [string, unknown][] {
  const path = `/${life.recording.id}`
  const taken = new Set(life.recording.spans.map(span => span.id))
  const appended = life.appended.filter(span => !taken.has(span.id))
  const requests: [string, unknown][] = [['', bodyOf(life)]]
  if (life.complete) return requests
  if (appended.length > 0) requests.push([`${path}/spans`, { schemaVersion: 1, spans: appended }])
  if (life.end !== undefined) requests.push([`${path}/end`, life.end])
  return requests
}

async function send(service: TestService, key: string, method: string, path: string, body: unknown) {
  const answer = await service.call(method, `/api/v1/traces${path}`, { key, body: writeJson(body) })
  assert.ok(answer.status < 300, answer.text)
  return answer.body
}

async function live(service: TestService, project: string, life: Life): Promise<void> {
  const { id } = life.recording
  const environment = life.environment === 'prod' ? { environment: 'prod' } : {}
  const { key } = await service.makeKey({ project, ...environment })
  for (const [path, body] of requestsOf(life)) await send(service, key, 'POST', path, body)
  for (const score of life.scores) await send(service, key, 'POST', `/${id}/scores`, score)
  if (life.patch !== undefined) await send(service, key, 'PATCH', `/${id}`, { metadata: life.patch })
  await service.database.pool.run(async sql => {
    if (life.environment === 'not recorded') await setEnvironment(sql, id, null)
    if (!life.isOld) return
    await sql`update traces set ingested_at = null, key_id = null where id = ${id}`
    // The score has the same time as the trace's other scores. Insertion order decides between scores of the same trace
    // only.
    await sql`
      update scores set created_at = ${new Date(Date.UTC(2026, 0, 2) + ++moments)}, source = 'eval', evaluator_id = 'e "1"', run_id = 'r' from traces t
      where scores.project_id = t.project_id and trace_seq = t.seq and t.id = ${id}`
  })
}

const LAST_END = {
  schemaVersion: 1,
  endedAt: '2026-01-01T12:00:09.5Z',
  usage: { inputTokens: 1 },
  costUsd: 0.1,
  metadata: { last: 1 },
  tags: ['last'],
  output: 'end'
}

let places = 0
let moments = 0

async function makePair(service: TestService) {
  const slugs = [`original-${++places}`, `copy-${places}`] as const
  const ids = [await service.makeProject(slugs[0]), await service.makeProject(slugs[1])].map(Number)
  const readers = await Promise.all(slugs.map(project => service.makeKey({ project })))
  return slugs.map((slug, i) => ({ slug, id: ids[i]!, key: readers[i]!.key }))
}

async function checkRoundTrip(service: TestService, importInto: Importer, lives: readonly Life[]): Promise<void> {
  const [original, copy] = (await makePair(service)) as [Place, Place]
  for (const life of lives) await live(service, original.slug, life)
  const lines = await exportLines(service.database, original.slug)
  const first = await importInto(copy.id, lines.join('\n'))
  assert.deepEqual([first.imported, first.problems], [lives.length, []])
  assert.deepEqual(await projectRows(service.database, copy.id), await projectRows(service.database, original.id))
  assert.deepEqual(await exportLines(service.database, copy.slug), lines)
  const second = await importInto(copy.id, `[${lines.join(',')}]`)
  assert.deepEqual([second.imported, second.skipped, second.problems], [0, lives.length, []])

  const read = async (path: string, key: string) => (await service.call('GET', `/api/v1${path}`, { key })).text
  const paths = [
    '/traces',
    '/traces?sort=costliest',
    '/traces?environment=unassigned',
    '/scores',
    '/scores?environment=prod'
  ]
  for (const path of [...paths, ...lives.map(({ recording }) => `/traces/${recording.id}`)]) {
    assert.equal(await read(path, copy.key), await read(path, original.key), path)
  }
  for (const life of lives) {
    const environment = life.environment === 'prod' ? { environment: 'prod' } : {}
    const { key } = await service.makeKey({ project: copy.slug, ...environment })
    for (const [path, body] of requestsOf(life)) {
      if (path.endsWith('/spans') && life.end !== undefined) continue
      assert.notEqual((await send(service, key, 'POST', path, body)).duplicate, false, 'a resend is a duplicate')
    }
  }
  // Running traces continue in the same way in both projects.
  for (const { complete, end, environment, recording } of lives) {
    if (complete || end !== undefined) continue
    const keyOf = (project: string) => service.makeKey({ project, ...(environment === 'prod' && { environment }) })
    for (const { slug } of [original, copy]) {
      await send(service, (await keyOf(slug)).key, 'POST', `/${recording.id}/end`, LAST_END)
    }
  }
  assert.deepEqual(await projectRows(service.database, copy.id), await projectRows(service.database, original.id))
}

interface Place {
  readonly slug: string
  readonly id: number
  readonly key: string
}

t.test('exporting and importing into an empty project preserves every bit', async t => {
  const service = await testService(t)
  const importInto = testImporter(t, service.database)
  const lives = fc.uniqueArray(life, { selector: each => each.recording.id, minLength: 1, maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(lives, lives => checkRoundTrip(service, importInto, lives)),
    runs(2)
  )
})
