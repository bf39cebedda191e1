import t from 'tap'
import { checker } from '../../../../lib/schema/check.ts'
import { TraceDetail } from '../../../../lib/schema/output.ts'
import { readTraceDetail } from '../../../../lib/store/answers/traces.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'
import { freshId, seedProject, seedScores, seedTraces } from '../../../fixtures/database/seed.ts'

const TRACE = 'a0'.repeat(16)
const SPANS = ['00000000000000b1', '00000000000000b2', '00000000000000b0']

/** JSON that parsing and serialising again would change. */
const RAW = {
  input: '{"b": 1, "a": 12345678901234567890, "": [1e400, 1.0], "__proto__": {"x": 1}}',
  output: '"\\u0000 \\ud800 \\/"',
  metadata: '{"z":1,"1":2.50}',
  attributes: '{ "deep" : {"k":-0.0} }',
  events: '[{"attributes":null,"name":"e","timestamp":"2026-01-01T00:00:00.000Z"}]'
}

t.test('a trace detail', async t => {
  const { sqlAccess } = await testDatabase(t)
  const projectId = await sqlAccess.write(seedProject)
  const read = async (id: string, project = projectId) => sqlAccess.read(sql => readTraceDetail(sql, project, id))
  const parsed = async (id: string) => JSON.parse((await read(id)) ?? 'null')

  await t.test('returns free JSON as stored, byte for byte, and everything else in the form of responses', async t => {
    await sqlAccess.write(async sql => {
      await sql`insert into traces ${sql({
        project_id: projectId,
        span_count: 3,
        error_count: 1,
        score_count: 0,
        seq: 1,
        version: 1,
        started_at: '2026-01-01T00:00:00.000001Z',
        ended_at: '2026-01-01T00:00:02.500Z',
        duration_ms: 2500,
        ingested_at: '2026-01-01T00:00:03.1Z',
        metadata_updated_at: '2026-01-02T00:00:00Z',
        input_tokens: 5,
        output_tokens: 7,
        total_tokens: null,
        cost_usd: 1e-7,
        document_bytes: 10,
        estimated_bytes: 4_000_000_000,
        id: TRACE,
        name: 'say "hi"\n',
        status: 'error',
        environment: 'production',
        provider: 'p',
        model: 'm',
        session_id: 's',
        user_id: 'u',
        tags: ['one', 'two, "three"', 'null'],
        body_hash: 'ab'.repeat(32),
        family: 0,
        named_family: 0,
        input: RAW.input,
        output: RAW.output,
        metadata: RAW.metadata
      })}`
      const span = {
        project_id: projectId,
        trace_seq: 1,
        hash: 'cd'.repeat(32),
        name: 'step',
        kind: 'llm',
        status: 'ok'
      }
      await sql`insert into spans ${sql([
        {
          ...span,
          id: SPANS[0]!,
          started_at: '2026-01-01T00:00:01Z',
          ended_at: '2026-01-01T00:00:01.0015Z',
          parent_id: SPANS[1]!,
          input_tokens: 0,
          cost_usd: 0,
          input: RAW.input,
          attributes: RAW.attributes,
          events: RAW.events
        },
        {
          ...span,
          id: SPANS[1]!,
          started_at: '2026-01-01T00:00:01Z',
          ended_at: '2026-01-01T00:00:01.001499Z',
          parent_id: null,
          input_tokens: null,
          cost_usd: null,
          input: null,
          attributes: null,
          events: null
        },
        {
          ...span,
          id: SPANS[2]!,
          started_at: '2026-01-01T00:00:00.5Z',
          ended_at: '2026-01-01T00:00:00.5Z',
          parent_id: null,
          input_tokens: null,
          cost_usd: null,
          input: 'null',
          attributes: '{}',
          events: '[]'
        }
      ])}`
    })
    const text = (await read(TRACE)) ?? ''
    for (const raw of Object.values(RAW)) t.ok(text.includes(raw), `holds ${raw}`)
    const { trace, spans, scores } = JSON.parse(text)
    const { input, output, metadata, ...fields } = trace
    t.strictSame(fields, {
      id: TRACE,
      name: 'say "hi"\n',
      status: 'error',
      environment: 'production',
      startedAt: '2026-01-01T00:00:00.000001Z',
      endedAt: '2026-01-01T00:00:02.500Z',
      durationMs: 2500,
      provider: 'p',
      model: 'm',
      sessionId: 's',
      userId: 'u',
      tags: ['one', 'two, "three"', 'null'],
      usage: { inputTokens: 5, outputTokens: 7, totalTokens: 12 },
      costUsd: 1e-7,
      spanCount: 3,
      errorCount: 1,
      estimatedBytes: 4_000_000_000,
      ingestedAt: '2026-01-01T00:00:03.100Z',
      scores: {},
      metadataUpdatedAt: '2026-01-02T00:00:00.000Z',
      bodyHash: 'ab'.repeat(32)
    })
    t.strictSame(scores, [])
    t.strictSame(
      spans.map((span: { id: string }) => span.id),
      [SPANS[2], SPANS[0], SPANS[1]],
      'spans are ordered by start, then by id'
    )
    t.strictSame(
      spans.map((span: { durationMs: number }) => span.durationMs),
      [0, 2, 1],
      'half a millisecond rounds up'
    )
    t.strictSame(spans[2], {
      id: SPANS[1],
      traceId: TRACE,
      parentSpanId: null,
      name: 'step',
      kind: 'llm',
      status: 'ok',
      startedAt: '2026-01-01T00:00:01.000Z',
      endedAt: '2026-01-01T00:00:01.001499Z',
      durationMs: 1,
      provider: null,
      model: null,
      input: null,
      output: null,
      attributes: {},
      events: [],
      usage: null,
      costUsd: null
    })
    t.strictSame(spans[1].usage, { inputTokens: 0, outputTokens: 0, totalTokens: 0 }, 'a single sent count is usage')
    t.equal(spans[1].parentSpanId, SPANS[1])
    t.equal(spans[1].costUsd, 0)
    t.ok(checker(TraceDetail).check(JSON.parse(text)), "the text matches the response's schema")
  })

  await t.test('a minimal running trace has nulls and empty values', async t => {
    await sqlAccess.write(sql =>
      seedTraces(sql, projectId, [
        { seq: 2, id: '02'.repeat(16), status: 'running', durationMs: null, ingestedAt: null }
      ])
    )
    const detail = await parsed('02'.repeat(16))
    t.match(detail, {
      trace: {
        status: 'running',
        environment: null,
        endedAt: null,
        durationMs: null,
        tags: [],
        usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 },
        costUsd: null,
        ingestedAt: null,
        input: null,
        output: null,
        metadata: {},
        metadataUpdatedAt: null
      },
      spans: [],
      scores: []
    })
    t.ok(checker(TraceDetail).check(detail))
  })

  await t.test('caps a derived total at the largest exact double', async t => {
    const id = freshId(32)
    await sqlAccess.write(async sql => {
      await seedTraces(sql, projectId, [{ id, environment: null }])
      await sql`update traces set input_tokens = ${Number.MAX_SAFE_INTEGER}, output_tokens = 5 where id = ${id}`
    })
    const { trace } = await parsed(id)
    t.equal(trace.usage.totalTokens, Number.MAX_SAFE_INTEGER)
    t.equal(trace.environment, null, 'an environment that was never recorded reads as null')
  })

  await t.test('lists scores newest first, ties by insertion, and summarises the newest of each name', async t => {
    const id = freshId(32)
    await sqlAccess.write(async sql => {
      await seedTraces(sql, projectId, [{ seq: 4, id, scoreCount: 5 }])
      const [early, late] = ['2026-02-01T00:00:00.000Z', '2026-02-02T00:00:00.000Z']
      await seedScores(sql, projectId, [
        { traceSeq: 4, id: '000000000000000a', name: 'a', value: '1', createdAt: late },
        { traceSeq: 4, id: '000000000000000b', name: 'b', value: '2', createdAt: early },
        { traceSeq: 4, id: '000000000000000c', name: 'b', value: '3', createdAt: early },
        { traceSeq: 4, id: '000000000000000d', name: 'a', value: '4', createdAt: early },
        { traceSeq: 4, id: '000000000000000e', name: '__proto__', value: '5', createdAt: early }
      ])
    })
    const { trace, scores } = await parsed(id)
    t.strictSame(
      scores.map((score: { id: string }) => score.id.at(-1)),
      ['a', 'e', 'd', 'c', 'b']
    )
    t.strictSame(Object.entries(trace.scores), [
      ['a', { scoreId: '000000000000000a', dataType: 'numeric', value: 1, evaluatorId: null }],
      ['__proto__', { scoreId: '000000000000000e', dataType: 'numeric', value: 5, evaluatorId: null }],
      ['b', { scoreId: '000000000000000c', dataType: 'numeric', value: 3, evaluatorId: null }]
    ])
    t.strictSame(scores[0], {
      id: '000000000000000a',
      traceId: id,
      spanId: null,
      name: 'a',
      dataType: 'numeric',
      value: 1,
      comment: null,
      source: 'api',
      evaluatorId: null,
      runId: null,
      createdAt: '2026-02-02T00:00:00.000Z'
    })
  })

  await t.test('is undefined for a trace that does not exist, or is in another project', async t => {
    t.equal(await read('ff'.repeat(16)), undefined)
    t.equal(await read(TRACE, projectId + 1), undefined)
  })
})
