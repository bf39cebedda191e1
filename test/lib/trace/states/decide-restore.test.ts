import t from 'tap'
import type { PastScore } from '../../../../lib/trace/prepared.ts'
import { type CopiedState, decideRestore, type RestoredHead } from '../../../../lib/trace/states/decide-restore.ts'
import type { Ranks } from '../../../../lib/trace/states/ranks.ts'

const AT = '2026-11-21T12:00:00.000Z'
const LATER = '2026-11-21T12:00:01.000Z'
const LAST = '2026-11-21T12:00:01.000001Z'

const score = (id: string, over: Partial<PastScore> = {}): PastScore => ({
  ...{ id, spanId: null, name: 'quality', dataType: 'numeric', value: 1, comment: null, source: 'api' },
  ...{ evaluatorId: null, runId: null, createdAt: AT, ...over }
})

/** A trace at one moment, for either side of a comparison. */
interface Moment {
  readonly hash: string
  readonly endedAt: string | null
  readonly status: string
  readonly endHash: string | null
  readonly metadata: string | null
  readonly patchedAt: string | null
  /** Span ids and hashes. */
  readonly spans: readonly (readonly [string, string])[]
  readonly scores: readonly PastScore[]
  readonly ranks: Ranks | undefined
  readonly startedAt: string
  readonly tags: readonly string[]
  readonly fields?: Partial<Fields>
  readonly hasComputedCosts?: boolean
}
type Fields = Pick<
  RestoredHead,
  | 'name'
  | 'provider'
  | 'model'
  | 'sessionId'
  | 'userId'
  | 'costUsd'
  | 'inputTokens'
  | 'totalTokens'
  | 'input'
  | 'output'
>
const FIELDS: Fields & { outputTokens: null } = {
  ...{ name: 'n', provider: null, model: null, sessionId: null, userId: null, costUsd: null, inputTokens: null },
  ...{ outputTokens: null, totalTokens: null, input: '"in"', output: '"out"' }
}

const running: Moment = {
  ...{ hash: 'body', endedAt: null, status: 'running', endHash: null, metadata: '{"a":1}', patchedAt: null },
  ...{ spans: [['a', 'h']], scores: [score('1')], ranks: undefined, startedAt: AT, tags: [] }
}
const ended: Moment = { ...running, endedAt: LATER, status: 'ok', endHash: 'end' }
const gathered: Moment = { ...running, ranks: { name: [3, 5, 'a'] } }
const rooted: Moment = { ...gathered, endedAt: LATER, status: 'ok', ranks: { name: [1, 4, 'b'], times: [1, 4, 'b'] } }

function stored(moment: Moment, sent: Moment): CopiedState {
  const { hasComputedCosts = false } = moment
  const { hash, endedAt, status, endHash, metadata, patchedAt, spans, scores, ranks, startedAt, tags } = moment
  const wanted = new Set(sent.spans.map(([id]) => id))
  const { sessionId, input, output, ...fields } = { ...FIELDS, ...moment.fields }
  return {
    ...fields,
    running: endedAt === null,
    bodyHash: hash,
    endHash,
    startedAt,
    tags,
    spanCount: spans.length,
    estimatedBytes: 100,
    metadata,
    spanHashes: new Map(spans.filter(([id]) => wanted.has(id))),
    copy: {
      ...{ status, endedAt, sessionId, input, output, ranks, scores, hasComputedCosts },
      metadataUpdatedAt: patchedAt
    }
  }
}

function line(moment: Moment): RestoredHead {
  const { hash, endedAt, status, endHash, metadata, patchedAt, spans, scores, ranks, startedAt, tags } = moment
  return {
    ...{ operation: 'record', traceId: 't', ...FIELDS, ...moment.fields },
    ...{ status, startedAt, endedAt, tags, metadata, hash, bytes: 50 },
    spans: spans.map(([id, hash]) => ({ id, hash, kind: 'custom', status: 'error', bytes: 10 })),
    ranks: ranks === undefined ? null : JSON.stringify(ranks),
    past: {
      ...{ environment: null, keyId: null, ingestedAt: null, estimatedBytes: undefined },
      ...{ metadataUpdatedAt: patchedAt, endHash, scores, messages: [] },
      hasComputedCosts: moment.hasComputedCosts === true
    }
  }
}

/** Returns the decision's type or, for a contradiction, the reason. */
function decided(before: Moment, sent: Moment): string {
  const decision = decideRestore(stored(before, sent), line(sent))
  return decision.type === 'contradiction' ? decision.reason : decision.type
}

t.test('the later of two states wins, whichever is stored', async t => {
  const two = { spans: [...running.spans, ['b', 'h'] as const] }
  const scored = { scores: [...running.scores, score('2')] }
  const patched = { metadata: '{"b":2}', patchedAt: LATER }
  const pairs: [string, Moment, Moment][] = [
    ['spans', running, { ...running, ...two }],
    ['the first span', { ...running, spans: [] }, running],
    ['an end', running, ended],
    ['an end that sets metadata', running, { ...ended, metadata: '{"a":1,"end":true}' }],
    ['scores', ended, { ...ended, ...scored }],
    ['a patch', ended, { ...ended, ...patched }],
    ['another patch', { ...ended, ...patched }, { ...ended, metadata: null, patchedAt: LAST }],
    ['all of it', running, { ...ended, ...two, ...scored, ...patched }],
    ['gathered: a better name', gathered, { ...gathered, ranks: { name: [3, 4, 'c'] } }],
    [
      'gathered: a field that was not there',
      gathered,
      { ...gathered, ranks: { ...gathered.ranks, model: [2, 1, 'a'] } }
    ],
    [
      'gathered: metadata with a rank',
      gathered,
      {
        ...gathered,
        metadata: '{"a":1,"b":2}',
        ranks: { ...gathered.ranks, 'metadata.b': [1, 1, 'a'] }
      }
    ],
    ['gathered: a root, and another hash', gathered, { ...rooted, ...two, hash: 'more' }],
    ['gathered: an earlier start', { ...gathered, startedAt: LATER }, gathered],
    ['gathered: the start of a root', gathered, { ...rooted, startedAt: LATER }],
    ['gathered: tags', gathered, { ...gathered, tags: ['x'] }]
  ]
  for (const [what, early, late] of pairs) {
    t.equal(decided(early, late), 'advance', `${what}: the line has more`)
    t.equal(decided(late, early), 'known', `${what}: the line has less`)
    t.equal(decided(late, late), 'known', `${what}: the line has the same`)
  }
  const letters = Array.from({ length: 21 }, (_, i) => String.fromCharCode(97 + i))
  const tags = { ...gathered, tags: letters.slice(0, 20) }
  t.equal(decided(tags, { ...gathered, tags: letters.slice(1) }), 'known', 'too many tags prove nothing')
  const reordered = { ...ended, metadata: '{"b":1.0,"a":2}' }
  t.equal(decided({ ...ended, metadata: '{"a":2,"b":1}' }, reordered), 'known', 'metadata is compared by values')
})

t.test('contradictions are described in words', async t => {
  const other = (over: Partial<Moment>) => ({ ...ended, ...over })
  const table: [string, Moment, Moment, string][] = [
    ['another start', ended, other({ hash: 'x' }), 'trace t already exists with different content'],
    ['a gathered trace instead of a native one', ended, rooted, 'trace t already exists with different content'],
    ['a native trace instead of a gathered one', rooted, ended, 'trace t already exists with different content'],
    ['another span', ended, other({ spans: [['a', 'x']] }), 'span a is stored with different content'],
    ['another score', ended, other({ scores: [score('1', { value: 2 })] }), 'score 1 is stored with different content'],
    ['another end', ended, other({ endHash: 'x' }), 'its end is stored with different content'],
    [
      'a different status, without a hash',
      ended,
      other({ endHash: null, status: 'error' }),
      'its end is stored with different content'
    ],
    ['the same end, without a hash', ended, other({ endHash: null }), 'known'],
    ['other metadata', ended, other({ metadata: '{"a":2}' }), 'its metadata is stored with different values'],
    [
      'a patch that the line lacks, and an end that it has',
      { ...running, patchedAt: AT },
      ended,
      'this line has the end that the stored trace lacks, and the stored trace has the last patch that this line lacks'
    ],
    [
      'spans on both sides',
      running,
      { ...running, spans: [['b', 'h']] },
      'this line has spans that the stored trace lacks, and the stored trace has spans that this line lacks'
    ],
    [
      'better fields on both sides',
      { ...gathered, ranks: { name: [1, 1, 'a'], model: [3, 1, 'a'] } },
      { ...gathered, ranks: { name: [2, 1, 'a'], model: [2, 1, 'a'] } },
      'this line has fields that the stored trace lacks, and the stored trace has fields that this line lacks'
    ]
  ]
  for (const [what, before, sent, expected] of table) t.equal(decided(before, sent), expected, what)
})

t.test("an edited field contradicts, whatever the line's hash", async t => {
  const edits: [string, Partial<Fields>][] = [
    ['name', { name: 'x' }],
    ['provider', { provider: 'x' }],
    ['model', { model: 'x' }],
    ['sessionId', { sessionId: 'x' }],
    ['userId', { userId: 'x' }],
    ['costUsd', { costUsd: 0.1 }],
    ['usage', { inputTokens: 1 }],
    ['usage', { totalTokens: 1 }],
    ['input', { input: null }],
    ['output', { output: '"other"' }]
  ]
  const other = (field: string) => `its ${field} is stored with different content`
  for (const moment of [running, ended, gathered, rooted]) {
    for (const [field, fields] of edits) {
      t.equal(decided(moment, { ...moment, fields }), other(field), field)
      t.equal(decided({ ...moment, fields }, moment), other(field), field)
    }
  }
  t.equal(decided(ended, { ...ended, tags: ['x'] }), 'its tags are stored with different content')
  t.equal(decided(ended, { ...ended, status: 'error' }), other('status'))
  t.equal(decided(ended, { ...ended, endedAt: LAST }), other('endedAt'))
  t.equal(decided({ ...rooted, tags: ['a'] }, { ...rooted, tags: ['b'] }), 'its tags are stored with different content')

  // An end may set these fields, so they may differ from the start. Every other field must stay the same.
  const set = { provider: 'x', model: 'x', costUsd: 1, inputTokens: 1, output: 'null' }
  const done = { ...ended, fields: set, tags: ['x'] }
  t.equal(decided(running, done), 'advance')
  t.equal(decided(done, running), 'known')
  for (const fields of [{ name: 'x' }, { sessionId: 'x' }, { userId: 'x' }, { input: '1' }]) {
    const [field = ''] = Object.keys(fields)
    t.equal(decided(running, { ...done, fields }), other(field))
    t.equal(decided(done, { ...running, fields }), other(field))
  }
  t.equal(decided(gathered, { ...rooted, fields: { name: 'x', input: '1', ...set } }), 'advance')

  const spelled = { ...ended, fields: { input: '{"a":1.0,"b":10e399}', inputTokens: 0 } }
  const respelled = { ...ended, fields: { input: '{"b":1e400,"a":1}' } }
  t.equal(decided(spelled, respelled), 'known', 'values are compared, and counts as responses show them')
})

t.test("an advance is the line's trace, with its new data", async t => {
  const sent = { ...ended, spans: [...ended.spans, ['b', 'h'] as const], scores: [score('0'), score('1'), score('2')] }
  t.match(decideRestore(stored(running, sent), line(sent)), {
    advance: {
      ...{ status: 'ok', endedAt: LATER, durationMs: 1000, endHash: 'end', bodyHash: 'body', documentBytes: 50 },
      ...{ estimatedBytes: 70, addedBytes: -30, spanCount: 2, errorCount: 2, scoreCount: 3, output: '"out"' },
      ...{ spans: [{ id: 'b' }], scores: [0, 2] }
    }
  })
  const scored = { ...ended, scores: [...ended.scores, score('2')] }
  t.match(decideRestore(stored(ended, scored), line(scored)), { advance: { input: undefined, output: undefined } })
})

t.test('a computed cost may differ, because prices change, but no other field may', async t => {
  const priced = (costUsd: number | null, hasComputedCosts: boolean): Moment => ({
    ...{ ...rooted, fields: { costUsd }, hasComputedCosts }
  })
  for (const [before, sent] of [
    [priced(1, true), priced(2, true)],
    [priced(1, true), priced(null, false)],
    [priced(null, false), priced(2, true)]
  ] as const) {
    t.equal(decided(before, sent), 'known')
    t.match(decided(before, { ...sent, fields: { ...sent.fields, name: 'other' } }), 'its name is stored with')
  }
  t.match(decided(priced(1, false), priced(2, false)), 'its costUsd is stored with different content')
})
