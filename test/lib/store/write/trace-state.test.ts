import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { ExportWrite } from '../../../../lib/ingest/exports/export-write.ts'
import { readTraceStates } from '../../../../lib/store/write/trace-state.ts'
import { prepare } from '../../../../lib/trace/prepare.ts'
import { decide, type TraceState } from '../../../../lib/trace/states/decide.ts'
import type { CountedSpan } from '../../../../lib/trace/states/left-out.ts'
import { changedState, type KeptState, startedState } from '../../../../lib/trace/states/state-after.ts'
import { spans, start } from '../../../fixtures/bodies/arbitrary-bodies.ts'
import { ingestBody, span, spansBody, traceId } from '../../../fixtures/bodies/bodies.ts'
import { exportOf, otlpSpan } from '../../../fixtures/bodies/otlp.ts'
import { linesOf } from '../../../fixtures/database/all-readers.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'
import { countShared } from '../../../fixtures/database/stored-spans.ts'
import { bytes, testWritePath, writer } from '../../../fixtures/database/write-path.ts'

/** The ids of the arbitrary spans. */
const SPAN_IDS = Array.from({ length: 8 }, (_, n) => `${n}`.padStart(16, '0'))

t.test("a trace's stored state is that after its recording and its appends", async t => {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  const [project] = await database.pool.run(sql => sql`select id from projects`)
  const principal = writer({ projectId: project?.id ?? 1, environment: 'prod' })

  async function readState(id: string): Promise<TraceState> {
    const look = { traceId: id, projectId: principal.projectId, spanIds: SPAN_IDS, detail: 'end' } as const
    const [state] = await database.pool.run(sql => readTraceStates(sql, [look]))
    assert(state !== undefined)
    return state
  }

  const compare = (stored: TraceState, state: TraceState) =>
    assert.deepEqual(
      Object.fromEntries(Object.keys(state).map(name => [name, stored[name as keyof TraceState]])),
      state
    )

  const running = start.map(({ endedAt, status, ...trace }: Record<string, unknown>) => trace)
  await fc.assert(
    fc.asyncProperty(running, fc.array(spans, { maxLength: 3 }), async (trace, appends) => {
      const id = traceId()
      const body = bytes({ schemaVersion: 1, trace: { ...trace, id } })
      await path.record(principal, body)
      const { seq, version, ...first } = await readState(id)
      assert.equal(version, seq, 'the first version is the number of the trace')
      let state: KeptState = { ...startedState(prepare('record', body)), seq, version, environment: 'prod' }
      compare({ ...first, seq, version }, state)
      for (const list of appends.filter(list => list.length > 0)) {
        const body = bytes(spansBody(...list))
        const decision = decide(state, { ...prepare('append', body), environment: 'prod' })
        await path.append(principal, id, body).catch(() => {})
        const stored = await readState(id)
        if (decision.type === 'change') state = changedState(state, decision.change, stored.version)
        compare(stored, state)
      }
    }),
    { numRuns: 60 }
  )
})

const openInference = fc.record(
  {
    'openinference.span.kind': fc.constantFrom('LLM', 'TOOL', 'AGENT', 'CHAIN'),
    'input.value': fc.constantFrom('short', 'long '.repeat(100), 'ü'.repeat(100), 'Start(event=1)'),
    'output.value': fc.constantFrom('no', 'yes '.repeat(100), '{"a":[1,2]}'),
    'llm.model_name': fc.constantFrom('gpt-5', 'unknown-model'),
    'llm.token_count.prompt': fc.nat(1000),
    'llm.token_count.completion': fc.nat(1000),
    'session.id': fc.constantFrom('s1', 's2'),
    'user.id': fc.constantFrom('u1', 'u2'),
    'tag.tags': fc.constant(['a', 'b']),
    metadata: fc.constantFrom('{"k":1}', '{"k":2,"l":"x"}')
  },
  { requiredKeys: [] }
)

t.test("a gathered trace's stored state is that computed from the export that created it", async t => {
  const database = await testDatabase(t)
  const path = testWritePath(t, database, { prices: { ownOf: () => [], countUnpriced() {} } })
  const [project] = await database.pool.run(sql => sql`select id from projects`)
  const principal = writer({ projectId: project?.id ?? 1, environment: 'prod' })
  const cells = fc.record({ start: fc.nat(9), length: fc.nat(9), status: fc.nat(2), attributes: openInference })
  const known = (value: unknown) => JSON.parse(JSON.stringify(value))
  await fc.assert(
    fc.asyncProperty(fc.array(cells, { minLength: 1, maxLength: 5 }), fc.boolean(), async (all, hasRoot) => {
      const id = traceId()
      const root = 'ab'.repeat(8)
      const spans = all.map(({ start, length, status, attributes }, i) =>
        otlpSpan({
          ...{ traceId: id, start, end: start + length, status, attributes },
          ...(hasRoot && i === 0 ? { spanId: root } : { parentSpanId: root })
        })
      )
      const body = bytes(exportOf(...spans))
      const task = { operation: 'export-json', body, environment: 'prod', hurries: false, prices: [] } as const
      // Only a thread may load the prices: other tests in this process check that the main thread does not.
      const ready = await path.threads.makeReady(task, principal.projectId)
      assert(ready.operation === 'export')
      const { createdState } = new ExportWrite(ready.traces[0]!, 'prod')
      await path.export(principal, body, 'json')
      const look = { traceId: id, projectId: principal.projectId, spanIds: [], detail: 'export' } as const
      const [stored] = await database.pool.run(sql => readTraceStates(sql, [look]))
      assert(stored?.gathered !== undefined)

      const { gathered, spanHashes, ...state } = createdState
      assert(gathered !== undefined)
      const { spans: tree, ...fields } = gathered
      // A computed state also has the fields of the gathered one, which are compared below.
      const others = ['ranks', 'patched', 'spans']
      const namesOf = (wanted: object) =>
        Object.keys(wanted).filter(name => wanted === fields || !others.includes(name))
      const pick = (wanted: object, from: object) =>
        known(Object.fromEntries(namesOf(wanted).map(name => [name, from[name as never]])))
      assert.deepEqual(pick(state, stored), pick(state, state))
      assert.deepEqual(pick(fields, stored.gathered), known(fields))
      assert.deepEqual([...spanHashes].sort(), [...stored.spanHashes].sort())
      const sorted = (spans: Iterable<CountedSpan>) =>
        [...spans]
          .sort((a, b) => (a.id < b.id ? -1 : 1))
          .map(({ costIsComputed = false, ...span }) => ({ costIsComputed, ...span }))
      assert.deepEqual(known(sorted(tree)), known(sorted(stored.gathered.spans)))
    }),
    { numRuns: 60 }
  )
})

t.test('a line is compared with the texts that a trace shares with its spans, packed or not', async t => {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  const key = writer({ projectId: (await database.pool.run(sql => sql`select id from projects`))[0]?.id ?? 1 })
  for (const filler of ['', 'packed '.repeat(1000)]) {
    const [input, output] = [`é ${'x'.repeat(200)}`, { said: 'y'.repeat(200) }]
    const spans = [span({ input, attributes: { filler } }), span({ output })]
    const { id } = ingestBody().trace
    await path.record(key, bytes(ingestBody({ id, input, output, spans })))
    await database.pool.run(async sql => {
      t.match(await countShared(sql, key.projectId), { wrong: 0 })
      const [{ shared }] = await sql<[{ shared: boolean }]>`
        select num_nulls(input_span_id, output_span_id) = 0 and num_nulls(input, output) = 2 as shared
        from traces where project_id = ${key.projectId} and id = ${id}`
      t.ok(shared)
      const look = { traceId: id, projectId: key.projectId, spanIds: [] }
      const [copied, exported] = await readTraceStates(sql, [
        { ...look, detail: 'restore' },
        { ...look, detail: 'end' }
      ])
      t.match(copied?.copy, { input: JSON.stringify(input), output: JSON.stringify(output) })
      t.equal(exported?.outputBytes, JSON.stringify(output).length)
      const line = (await linesOf(sql, key.projectId)).split('\n').find(each => each.includes(id))!
      t.equal(await path.restore(key.projectId, Buffer.from(line)), 'duplicate')
      const edited = line.replace('"input":"é', '"input":"e')
      t.not(edited, line)
      await t.rejects(path.restore(key.projectId, Buffer.from(edited)), /its input is stored with different content/)
    })
  }
})
