/** Tests incremental backups: exports of one project, taken at different times and imported into another project. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { end, label, object, some, span, start } from '../../fixtures/bodies/arbitrary-bodies.ts'
import { spansBody } from '../../fixtures/bodies/bodies.ts'
import { exportOf, otlpSpan } from '../../fixtures/bodies/otlp.ts'
import { exportLines, type Importer, projectRows, testImporter } from '../../fixtures/database/moving.ts'
import { countOrphans, countStrays, NO_ORPHANS, NO_STRAYS } from '../../fixtures/database/seed.ts'
import { type TestService, testService } from '../../fixtures/service/service.ts'
import { runs } from '../../torture/orders.ts'

const IDS = ['a'.repeat(32), 'b'.repeat(32), 'c'.repeat(32)]
const TRACES = '/api/v1/traces'

/** A request of a history, or an export between two requests. A request may be rejected, and then changes nothing. */
type Step = 'export' | readonly [method: string, path: string, body: object]

const otlp = fc
  .tuple(
    fc.nat(7),
    fc.nat(2),
    some({
      parentSpanId: fc.constant('f'.repeat(16)),
      name: label,
      status: fc.nat(2),
      attributes: fc.constantFrom<object>(
        { metadata: '{"tier":"gold"}' },
        { metadata: '{"tier":"silver","plan":1}' },
        { 'gen_ai.request.model': 'm', 'gen_ai.usage.input_tokens': 5 },
        { tags: ['x', 'y'] },
        { tags: ['z'] }
      )
    })
  )
  .map(([n, start, over]) => ({ spanId: `${n + 1}`.padStart(16, '0'), start, ...over }))
const id = fc.constantFrom(...IDS)
const score = fc
  .tuple(fc.constantFrom('quality', 'tone'), some({ comment: fc.constant('why') }))
  .map(([name, over]) => ({ name, dataType: 'numeric', value: 0.5, ...over }))

const request: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(id, start).map(([id, trace]): Step => ['POST', TRACES, { schemaVersion: 1, trace: { id, ...trace } }]),
  fc
    .tuple(id, fc.array(span, { minLength: 1, maxLength: 3 }))
    .map(([id, list]): Step => ['POST', `${TRACES}/${id}/spans`, spansBody(...list)]),
  fc.tuple(id, fc.array(otlp, { minLength: 1, maxLength: 3 })).map(([traceId, list]): Step => {
    return ['POST', '/api/v1/otlp/v1/traces', exportOf(...list.map(each => otlpSpan({ traceId, ...each })))]
  }),
  fc.tuple(id, end).map(([id, body]): Step => ['POST', `${TRACES}/${id}/end`, body]),
  fc.tuple(id, object).map(([id, metadata]): Step => ['PATCH', `${TRACES}/${id}`, { metadata }]),
  fc.tuple(id, score).map(([id, body]): Step => ['POST', `${TRACES}/${id}/scores`, body])
)
const history = fc.array(
  fc.oneof({ weight: 4, arbitrary: request }, { weight: 1, arbitrary: fc.constant<Step>('export') }),
  { minLength: 5, maxLength: 30 }
)

interface Place {
  readonly slug: string
  readonly id: number
  readonly key: string
}

async function makePlace(service: TestService, slug: string): Promise<Place> {
  const id = Number(await service.makeProject(slug))
  return { slug, id, key: (await service.makeKey({ project: slug })).key }
}

/** Sends a history. Returns the exports taken during it; the last export contains everything. */
async function live(service: TestService, place: Place, steps: readonly Step[]): Promise<string[]> {
  const exports: string[] = []
  const take = async () => void exports.push((await exportLines(service.database, place.slug)).join('\n'))
  for (const step of steps) {
    if (step === 'export') await take()
    else await service.call(step[0], step[1], { key: place.key, body: step[2] })
  }
  await take()
  return exports
}

/** Imports the exports in order. After each, imports an earlier export again, which must change nothing. */
async function follow(
  service: TestService,
  importInto: Importer,
  copy: Place,
  exports: readonly string[],
  picks: number[]
) {
  for (const [i, lines] of exports.entries()) {
    assert.deepEqual((await importInto(copy.id, lines)).problems, [])
    const now = await projectRows(service.database, copy.id)
    const old = exports[(picks[i] as number) % (i + 1)] as string
    const again = await importInto(copy.id, old)
    assert.deepEqual([again.imported, again.advanced, again.problems], [0, 0, []])
    assert.deepEqual(await projectRows(service.database, copy.id), now)
  }
}

let pairs = 0

t.test("exports imported in sequence, repeatedly and out of order end in the last export's state", async t => {
  const service = await testService(t)
  const importInto = testImporter(t, service.database)
  const picks = fc.array(fc.nat(30), { minLength: 31, maxLength: 31 })
  await fc.assert(
    fc.asyncProperty(history, picks, async (steps, picks) => {
      const original = await makePlace(service, `original-${++pairs}`)
      const copy = await makePlace(service, `copy-${pairs}`)
      const exports = await live(service, original, steps)
      await follow(service, importInto, copy, exports, picks)
      assert.deepEqual(await projectRows(service.database, copy.id), await projectRows(service.database, original.id))
      assert.equal((await exportLines(service.database, copy.slug)).join('\n'), exports.at(-1))
      assert.deepEqual(await service.database.pool.run(countStrays), NO_STRAYS)
      assert.deepEqual(await service.database.pool.run(countOrphans), NO_ORPHANS)
    }),
    runs(5)
  )
})
