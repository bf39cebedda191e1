/** Tests commands that query steps, failures, sums, sessions and words, with a key and next to the database. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { mergeGroups } from '../../bin/commands/history/errors.ts'
import { excerptLine } from '../../bin/commands/traces/search.ts'
import { renderLine } from '../../bin/terminal/lines.ts'
import { AT, ingestBody, span } from '../fixtures/bodies/bodies.ts'
import { testService } from '../fixtures/service/service.ts'
import { configurationFor, jsonHere, runHere } from '../fixtures/service/spoor.ts'
import { until } from '../fixtures/until.ts'
import { guideCode } from '../plugins/docs/guide.ts'
import { runs } from '../torture/orders.ts'

const failed = (name: string, message: string, more = {}) =>
  span({ name, kind: 'tool', status: 'error', attributes: { 'error.type': 'E', 'error.message': message }, ...more })

t.test('both modes find the same steps, failures, sums, sessions and words', async t => {
  const service = await testService(t)
  const env = { SPOOR_URL: service.url, SPOOR_API_KEY: service.key }
  const beside = configurationFor(service.database)
  const record = async (over: object): Promise<string> => {
    const body = ingestBody({ userId: 'u', ...over })
    await service.call('POST', '/api/v1/traces', { body })
    return body.trace.id
  }
  await jsonHere(['project', 'update', 'default', '--search', 'on'], beside)
  const first = await record({ name: 'a', sessionId: 's', spans: [failed('search', 'no route 12')], model: 'm' })
  await record({ name: 'a', sessionId: 's', status: 'error', spans: [failed('search', 'no route 13'), span()] })
  const slow = span({ name: 'plan', kind: 'llm', model: 'm', endedAt: '2026-11-21T12:00:09.000Z', input: { x: 1.0 } })
  const plain = { tags: ['x', 'y'], endedAt: '2026-11-21T12:00:10.000Z', costUsd: 0.25, input: 'the delivery\naddress' }
  const last = await record({ name: 'b', sessionId: 't', spans: [slow], ...plain })
  await service.call('POST', `/api/v1/traces/${last}/scores`, {
    body: { name: 'good', dataType: 'numeric', value: 0.25 }
  })

  const both = async (args: string[]): Promise<string> => {
    const asked = await runHere(args, env)
    t.match(asked, { code: 0, err: '' }, args.join(' '))
    t.same(await runHere([...args, '--project', 'default'], beside), asked, args.join(' '))
    return asked.out
  }
  const json = async (...args: string[]) => JSON.parse(await both([...args, '--json']))
  const namesOf = (items: { name: string }[]) => items.map(({ name }) => name)

  const steps: [string[], string[]][] = [
    [
      ['--kind', 'tool'],
      ['search', 'search']
    ],
    [['--name', 'plan'], ['plan']],
    [['--status', 'error', '--limit', '1'], ['search']],
    [['--min-duration', '2s'], ['plan']],
    [['--min-duration', '9001ms'], []],
    [['--model', 'm'], ['plan']],
    [['--sort', 'slowest', '--limit', '1'], ['plan']],
    [['--tag', 'x', '--user', 'u', '--session', 't', '--trace-name', 'b'], ['plan']],
    [['--tag', 'z'], []],
    [['--trace', first], ['search']],
    [['--before', AT], []],
    [['--since', '2026-11-21', '--to', '2026-11-21', '--kind', 'llm', '--texts'], ['plan']]
  ]
  for (const [args, names] of steps) t.same(namesOf(await json('span', 'list', ...args)), names, args.join(' '))
  t.match(await both(['span', 'list', '--name', 'plan', '--texts']), /plan +llm[^\n]*\n {4}input\n {6}\{\n {8}"x": 1\n/)
  t.match(await both(['span', 'list', '--kind', 'tool']), /^TRACE[^\n]*\n[^\n]* search [^\n]*\n {4}E: no route 1[23]\n/)
  t.equal((await both(['span', 'list', '--ndjson'])).trimEnd().split('\n').length, 4)

  const period = ['--since', '2026-11-21', '--to', '2026-11-21']
  const { errors, steps: failing, complete } = await json('errors', ...period)
  t.same(failing, [{ name: 'search', kind: 'tool', count: 2, passedOn: 0, traces: 2 }])
  t.equal((await json('errors', '--session', 's', '--trace-name', 'a', ...period)).failureCount, 2)
  t.equal((await json('errors', '--model', 'm', ...period)).failureCount, 0)
  t.match(errors, [{ name: 'search', kind: 'tool', type: 'E', count: 2, traces: 2 }])
  t.equal(complete, true)
  t.match(
    await both(['errors', ...period]),
    /^2 failures in 1 group, from 2026-11-21 00:00:00 to 2026-11-21 23:59:59 UTC\n/
  )
  t.match(
    await both(['errors', ...period]),
    /\n +2 +2 +tool +search +E: no route <[^\n]*\n {4}(?:2026-)?11-21 12:00:00 to [^\n]*, such as [0-9a-f]{32}\n/
  )
  t.match(await both(['errors', '--kind', 'llm', ...period]), /^No failures from /)

  const usage = await json('usage', '--by', 'name', ...period)
  t.match(usage, { from: '2026-11-21T00:00:00.000Z', to: '2026-11-22T00:00:00.000Z', total: { traces: 3, errors: 1 } })
  t.match(
    await both(['usage', '--by', 'name', ...period]),
    /\nNAME +TRACES[^\n]*\na +2 +1 [^\n]*\nb +1 +0 [^\n]*\nall +3 +1 /
  )
  const costs = await both(['usage', '--by', 'name', ...period])
  t.match(costs, /^b [^\n]*\$0\.25/m)
  t.notMatch(costs, /^a [^\n]*\$/m, 'an unknown cost is not $0.00')
  t.match(await json('usage', '--by', 'step', '--step-kind', 'tool', '--sort', 'errors', '--limit', '1', ...period), {
    rows: [{ key: 'search', kind: 'tool', steps: 2, errors: 2 }],
    others: 0
  })
  t.match(
    await json(
      'usage',
      '--tag',
      'x',
      '--user',
      'u',
      '--session',
      't',
      '--name',
      'b',
      '--environment',
      'unassigned',
      ...period
    ),
    { total: { traces: 1, costUsd: 0.25 } }
  )
  t.equal((await json('usage', '--model', 'n', ...period)).total.traces, 0)
  t.match(await both(['usage', '--interval', 'day', ...period]), /\n2026-11-21 00:00 +3 +1 [^\n]*\nall +3 /)
  t.match(await both(['usage', ...period]), /\nall +3 +1 /)
  for (const [interval, whole] of [
    ['day', /^\d{4}-\d\d-\d\dT00:00:00\.000Z$/],
    ['hour', /^\d{4}-\d\d-\d\dT\d\d:00:00\.000Z$/]
  ] as const) {
    const { out } = await runHere(['usage', '--interval', interval, '--since', '3d', '--json'], env)
    t.match(JSON.parse(out).from, whole, `a whole ${interval}`)
  }
  t.match(await both(['usage', '--by', 'name', '--scores', ...period]), / GOOD *\n(.*\n)*b [^\n]* 0\.25 *\n/)
  t.equal((await both(['usage', '--by', 'name', '--ndjson', ...period])).trimEnd().split('\n').length, 2)

  t.same((await json('session', 'list')).map(({ id }: { id: string }) => id).sort(), ['s', 't'])
  t.match(await json('session', 'list', '--prefix', 't', '--user', 'u'), [{ id: 't', traceCount: 1 }])
  t.match(
    await both(['session', 'show', 's']),
    /^s\n[\s\S]*traces +2 traces, 1 with status error\n[\s\S]*\nTRACE[^\n]*\n/
  )
  t.match(
    await both(['session', 'show', 's']),
    /\n {4}✗ search: E: no route 1[23]\n[^\n]+\n {4}✗ search: E: no route 1[23]\n/
  )
  t.match(await both(['trace', 'search', '--score', 'good < 0.5']), / GOOD *\n[^\n]* 0\.25 *\n/)
  t.match(await json('session', 'show', 's', '--limit', '1'), { session: { id: 's' }, traces: { length: 1 } })
  t.match(await runHere(['session', 'show', 'none'], env), { code: 1, err: /no such session/ })

  const searches: [string[], string[]][] = [
    [['--errors'], ['a', 'a']],
    [['--step', 'search', '--step-status', 'error', '--limit', '1'], ['a']],
    [['--step-kind', 'llm'], ['b']],
    [['--error', 'route 12'], ['a']],
    [['--score', 'good<0.5'], ['b']],
    [['--score', ' good < 0.5 '], ['b']],
    [['--score', 'good<0.5', '--score', 'good>0.3'], []],
    [['--tag', 'x', '--tag', 'y'], ['b']],
    [['--tag', 'x', '--tag', 'z'], []],
    [['--min-duration', '10s', '--max-cost', '0.25'], ['b']],
    [['--min-cost', '0.26'], []],
    [['--annotated', 'yes'], []],
    [['--user', 'u', '--sort', 'costliest', ...period], ['b']]
  ]
  for (const [args, names] of searches) t.same(namesOf(await json('trace', 'search', ...args)), names, args.join(' '))
  t.same(namesOf(await json('trace', 'list', '--errors')), ['a', 'a'])
  t.same(namesOf(await json('trace', 'list', '--sort', 'slowest', '--session', 't')), ['b'])
  t.match(await both(['trace', 'search', '--error', '12']), /\n {4}✗ search: E: no route 12\n/)
  // Until the index is complete, a search says that it is not.
  await until(async () => !(await runHere(['trace', 'search', 'delivery'], env)).out.includes('not complete'))
  t.same(namesOf(await json('trace', 'search', 'delivery')), ['b'])
  t.match(await both(['trace', 'search', 'delivery', 'address']), /\n {4}input: the delivery address\n/)
  t.same(namesOf(await json('trace', 'search', '"delivery address"')), ['b'])

  t.same(await jsonHere(['trace', 'delete', '--session', 't'], env), { sessionId: 't', traces: 1, applied: false })
  t.match(await runHere(['trace', 'delete', '--session', 't'], env), {
    out: '1 trace of session t selected. Nothing was changed. Add --apply to delete it.\n'
  })
  for (const [flags, done] of [
    [[], 'selected'],
    [['--apply'], 'deleted']
  ] as const) {
    const { code, out } = await runHere(['trace', 'delete', '--user', 'v', ...flags], env)
    t.equal(code, 0)
    t.match(out, /0 traces of user v.*No trace has the user ID "v"\. The [^\n]*"u"\.\n$/)
    t.ok(out.includes(done))
  }
  t.same(await jsonHere(['trace', 'delete', '--session', 't', '--apply'], env), {
    ...{ sessionId: 't', traces: 1, applied: true }
  })
  t.match(await runHere(['trace', 'delete', '--user', 'u', '--apply'], env), { out: 'deleted 2 traces of user u\n' })
  t.same(await json('trace', 'list'), [])

  const wrong: [string[], number, RegExp][] = [
    [['span', 'list', '--kind', 'tools'], 2, /--kind must be one of .*tool/],
    [['span', 'list', '--min-duration', 'long'], 2, /--min-duration must be a duration, such as 500ms/],
    [['span', 'list', '--trace', 'x'], 2, /--trace must be 32 hexadecimal digits/],
    [['span', 'list', '--sort', 'costliest'], 2, /--sort must be one of newest, slowest/],
    [['span', 'list', '--sort', 'slowest', '--limit', '201'], 2, /--limit must be from 1 to 200/],
    [['errors', '--tag', ''], 2, /--tag must not be empty/],
    [['errors', '--limit', '201'], 2, /--limit must be from 1 to 200/],
    [['errors', '--json', '--ndjson'], 2, /cannot be combined/],
    [['usage', '--by', 'weekday'], 2, /by: /],
    [['usage', '--interval', 'week'], 2, /--interval must be one of hour, day, none/],
    [['usage', '--sort', 'speed'], 2, /--sort must be one of traces, errors, cost, tokens, duration/],
    [['usage', '--step-kind', 'tool'], 2, /stepKind: requires `by=step`/],
    [['usage', '--step-kind', 'tools'], 2, /--step-kind must be one of/],
    [['session', 'show'], 2, /SESSION is missing/],
    [['trace', 'search', '--score', 'good'], 2, /score: /],
    [['trace', 'search', '--score', ''], 2, /--tag and --score must not be empty/],
    [['trace', 'search', '--annotated', 'true'], 2, /--annotated must be one of yes, no/],
    [['trace', 'search', '--min-cost', '-1'], 2, /--min-cost must be 0 or more/],
    [['trace', 'search', '...'], 2, /q: must contain a letter or a digit/],
    [['trace', 'search', '--no-cost', '--min-cost', '1'], 2, /withoutCost: cannot be combined with `minCostUsd`/]
  ]
  for (const [args, code, message] of wrong) {
    t.match(await runHere(args, env), { code, out: '', err: message }, args.join(' '))
  }
})

t.test("the guide's commands do what the guide says", async t => {
  const service = await testService(t)
  const env = { SPOOR_URL: service.url, SPOOR_API_KEY: service.key }
  await jsonHere(['project', 'update', 'default', '--search', 'on'], configurationFor(service.database))
  const html = await (await fetch(`${service.url}/docs/terminal`)).text()
  const lines = guideCode(html, 'terminal', 'console').flatMap(block => block.split('\n'))
  const commands = lines.flatMap(line => /^npx spoor (.*?)(?: +#.*)?$/.exec(line)?.[1] ?? [])
  t.ok(commands.length > 10)
  const trace = ingestBody({ id: '5a1e0f6c9b3d47e2a8c4d1f0b7e69328', userId: 'customer-7', sessionId: 'chat-1042' })
  await service.call('POST', '/api/v1/traces', { body: trace })
  for (const line of commands.filter(each => each !== 'trace tail -f')) {
    const words = line.match(/'[^']*'|\S+/g)!.map(word => word.replaceAll("'", ''))
    const { code, err } = await runHere(words, env)
    t.match({ code, err }, { code: 0, err: '' }, line)
  }
})

type Group = ReturnType<typeof mergeGroups>[number]
const group = fc.record({
  name: fc.constantFrom('a', 'b'),
  kind: fc.constantFrom('tool' as const, 'trace' as const),
  type: fc.constantFrom('E', null),
  message: fc.constantFrom('m', null),
  count: fc.integer({ min: 1, max: 9 }),
  passedOn: fc.constant(0),
  traces: fc.integer({ min: 1, max: 9 }),
  firstSeen: fc.constantFrom('2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000001Z'),
  lastSeen: fc.constantFrom('2026-01-02T00:00:00.000Z', '2026-01-02T00:00:00.000001Z', '2026-01-02T00:00:00.001Z'),
  example: fc.constantFrom('x', 'y').map(traceId => ({ traceId, spanId: null, message: null }))
})

t.test('failure groups from several responses are added up', async () => {
  const keyOf = ({ kind, name, type, message }: Group) => JSON.stringify([kind, name, type, message])
  const answer = fc.uniqueArray(group, { selector: keyOf })
  const total = (groups: readonly Group[], of: 'count' | 'traces') => groups.reduce((sum, each) => sum + each[of], 0)
  fc.assert(
    fc.property(answer, answer, (one, other) => {
      const merged = mergeGroups(one, other)
      assert.deepEqual(new Set(merged.map(keyOf)), new Set([...one, ...other].map(keyOf)))
      for (const of of ['count', 'traces'] as const) {
        assert.equal(total(merged, of), total(one, of) + total(other, of))
      }
      for (const each of merged) {
        const parts = [...one, ...other].filter(part => keyOf(part) === keyOf(each))
        const micros = (time: string) => time.slice(0, -1).padEnd(26, '0')
        assert.equal(micros(each.firstSeen), parts.map(part => micros(part.firstSeen)).sort()[0])
        assert.equal(
          micros(each.lastSeen),
          parts
            .map(part => micros(part.lastSeen))
            .sort()
            .at(-1)
        )
      }
      assert.deepEqual(
        merged.map(({ count }) => count),
        merged.map(({ count }) => count).sort((a, b) => b - a)
      )
    }),
    runs(200)
  )
})

t.test('an excerpt is one line with the matching words in bold', async t => {
  const line = excerptLine({ place: 'input', role: null, text: 'a\n[b]\u001b c', marks: [[2, 5]] })
  t.equal(renderLine(line, true), '    \u001b[2minput: \u001b[0ma \u001b[1m[b]\u001b[0m  c')
})
