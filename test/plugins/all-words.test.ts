/** Tests that the API, the MCP tool and the dashboard find words in errors, tool calls and metadata. */
import t from 'tap'
import { ADVISORY_LOCK } from '../../lib/database/advisory-locks.ts'
import { termsOf } from '../../lib/search/words.ts'
import { ingestBody, span } from '../fixtures/bodies/bodies.ts'
import { mcpClient } from '../fixtures/service/mcp.ts'
import { signedIn } from '../fixtures/service/people.ts'
import { indexNow, searchOn } from '../fixtures/service/searching.ts'
import { testService } from '../fixtures/service/service.ts'
import { until } from '../fixtures/until.ts'

t.test('words in errors, tool calls and metadata are found once they are indexed', async t => {
  const service = await testService(t)
  const { pool } = service.database
  const { ask } = await signedIn(service, 'viewer@example.com', 'viewer')
  const { use } = await mcpClient(t, service)
  await searchOn(service)
  const tool = span({ kind: 'tool', input: { address: 'Elm Street 5' }, output: 'delivered yesterday' })
  const thrown = { 'exception.type': 'TimeoutError', 'exception.message': 'the courier did not respond' }
  const failed = span({
    status: 'error',
    events: [{ name: 'exception', timestamp: '2026-11-21T12:00:00Z', attributes: thrown }]
  })
  const body = ingestBody({
    input: 'a refund',
    metadata: { tenant: { name: 'Acme Ltd' } },
    spans: [tool, failed]
  })
  t.equal((await service.call('POST', '/api/v1/traces', { body })).status, 201)
  const { id } = body.trace
  await indexNow(service)
  /** Searches in all three ways. Returns the number of traces that are not found by all texts. */
  const search = async (words: string, found: object | undefined): Promise<number> => {
    const q = encodeURIComponent(words)
    const api = (await service.call('GET', `/api/v1/search?q=${q}`)).body
    const slowest = (await service.call('GET', `/api/v1/search?q=${q}&sort=slowest`)).body
    const agent = (await use('search_traces', { q: words })).value
    const page = (await ask('GET', `p/default/traces?q=${q}`)).body
    const expected = found === undefined ? [] : [id]
    for (const { traces } of [api, slowest, agent, page]) {
      t.same(
        traces.map((trace: { id: string }) => trace.id),
        expected,
        words
      )
    }
    if (found !== undefined) {
      t.match(api.traces[0].excerpt, found)
      t.match(page.traces[0].excerpt, found)
      const outline = ({ marks, ...excerpt }: { marks: object }) =>
        Object.fromEntries(Object.entries(excerpt).filter(([, value]) => value !== null))
      t.same(agent.traces[0].excerpt, outline(api.traces[0].excerpt))
      t.same(agent.traces[0].moreExcerpts ?? [], api.traces[0].moreExcerpts.map(outline))
      t.same(slowest.traces[0].moreExcerpts, api.traces[0].moreExcerpts)
    }
    t.equal(page.index.partlyIndexed, api.index.partlyIndexed)
    t.equal(agent.index.partlyIndexed, api.index.partlyIndexed)
    return api.index.partlyIndexed
  }
  const texts: readonly (readonly [string, object])[] = [
    ['elm', { place: 'input', text: 'Elm Street 5', marks: [[0, 3]] }],
    ['delivered', { place: 'output', text: 'delivered yesterday' }],
    ['courier', { place: 'error', text: 'TimeoutError the courier did not respond' }],
    ['timeouterror', { place: 'error' }],
    ['"acme ltd"', { place: 'metadata', text: 'Acme Ltd', marks: [[0, 8]] }],
    ['refund acme courier elm', { place: 'input', text: 'a refund' }]
  ]
  for (const [words, found] of texts) t.equal(await search(words, found), 0)
  const { moreExcerpts } = (await service.call('GET', '/api/v1/search?q=refund+acme+courier+elm')).body.traces[0]
  t.match(moreExcerpts, [
    { place: 'error', spanId: failed.id, marks: [[17, 24]] },
    { place: 'input', spanId: tool.id, marks: [[0, 3]] }
  ])
  // As an earlier version indexed the trace.
  const terms = [...termsOf(['run', 'a refund'])]
  await pool.run(async sql => {
    // No server indexes meanwhile.
    await sql`select pg_advisory_lock(${ADVISORY_LOCK.searchIndex})`
    await sql`update search_terms set terms = ${terms}::int[], covered = 0`
    t.equal(await search('refund', { place: 'input' }), 1)
    for (const [words] of texts) t.equal(await search(words, undefined), 1)
    await sql`select pg_advisory_unlock(${ADVISORY_LOCK.searchIndex})`
  })
  await until(async () => (await service.call('GET', '/api/v1/search?q=acme')).body.index.partlyIndexed === 0)
  for (const [words, found] of texts) t.equal(await search(words, found), 0)
})
