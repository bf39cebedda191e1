import { readFile } from 'node:fs/promises'
import fc from 'fast-check'
import t from 'tap'
import {
  chooseColumns,
  metadataColumn,
  metadataOfColumn,
  moveColumn
} from '../../../../../plugins/dashboard/app/list/columns.ts'
import { curlOfFirstTrace, otlpVariables } from '../../../../../plugins/dashboard/app/list/first-trace.ts'
import {
  countFilters,
  FILTER_NAMES,
  type Filters,
  filterTerms,
  ignoredParameters,
  isCounted,
  isRepeated,
  type ListQuery,
  listedTime,
  narrowed,
  readQuery,
  SORTS,
  toServer,
  withoutTerm,
  withRunsOnly,
  withSort,
  withTerms,
  withTime,
  writeQuery
} from '../../../../../plugins/dashboard/app/state/list-query.ts'
import { type Page, pathOf, readPath, SETTINGS } from '../../../../../plugins/dashboard/app/state/route.ts'
import { rangeMs, rangeName } from '../../../../../plugins/dashboard/app/state/time-range.ts'
import {
  formatBytes,
  formatCost,
  formatDuration,
  formatLimit,
  formatScore
} from '../../../../../plugins/dashboard/app/ui/format.ts'
import {
  ago,
  clockTime,
  fromInput,
  fullTime,
  shortTime,
  toInput
} from '../../../../../plugins/dashboard/app/ui/time.ts'

const word = fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' })
const words = fc.uniqueArray(word, { minLength: 1, maxLength: 3 })
const filters = fc.record(Object.fromEntries(FILTER_NAMES.map(name => [name, isRepeated(name) ? words : word])), {
  requiredKeys: []
})
const instant = fc
  .date({ min: new Date('2020-01-01'), max: new Date('2030-01-01'), noInvalidDate: true })
  .map(at => at.toISOString())
const time = fc.oneof(
  fc.constant({}),
  fc.record({ range: fc.constantFrom('15m', '24h', '7d', 'all') }),
  fc.record({ from: instant, to: instant }, { requiredKeys: [] })
)
const cursor = fc.oneof(fc.constant({}), fc.record({ after: word }), fc.record({ before: word }))
const runsOnly = fc.constantFrom({}, { runsOnly: true as const })
const queries: fc.Arbitrary<ListQuery> = fc
  .tuple(filters, runsOnly, time, cursor, fc.constantFrom(...SORTS))
  .map(([filters, runsOnly, time, cursor, sort]) => {
    const query: ListQuery = { filters: filters as Filters, ...runsOnly, ...time, ...cursor, sort }
    return query
  })

t.test('a list is restored from its address', async t => {
  fc.assert(fc.property(queries, query => t.same(readQuery(writeQuery(query)), query)))
  t.equal(writeQuery({ filters: {}, sort: 'newest' }), '', 'the last 7 days have the plain address')
})

t.test('an invalid address shows the last 7 days', async t => {
  t.same(readQuery('?range=yesterday&from=now&sort=best&status=&x=1&cols='), { filters: {}, sort: 'newest' })
  fc.assert(fc.property(fc.string(), text => t.ok(readQuery(text).sort)))
})

t.test('ignored parameters are named', async t => {
  t.same(ignoredParameters('?words=x&status=&sort=newest&range=yesterday&tag=a&tag=b&after=1&before=2&runs=1'), [
    'words',
    'range',
    'before',
    'runs'
  ])
  fc.assert(fc.property(queries, query => t.same(ignoredParameters(writeQuery(query)), [])))
})

t.test('a sort keeps all filters and the time', async t => {
  fc.assert(
    fc.property(queries, fc.constantFrom(...SORTS), (query, sort) => {
      const { after: _, before: __, ...first } = query
      t.same(withSort(query, sort), { ...first, sort })
      t.same(readQuery(writeQuery({ ...first, sort })), { ...first, sort })
    })
  )
})

t.test('terms are added and removed one by one', async t => {
  const query = readQuery('?tag=a&q=refund&model=m&after=c')
  const more = withTerms(query, [
    { filter: 'tag', value: 'b' },
    { filter: 'tag', value: 'a' },
    { filter: 'q', value: 'order' },
    { filter: 'model', value: 'n' }
  ])
  t.same(more, { filters: { tag: ['a', 'b'], q: 'refund order', model: 'n' }, sort: 'newest' })
  t.equal(writeQuery(more), '?q=refund+order&model=n&tag=a&tag=b')
  t.same(withoutTerm(more, { filter: 'tag', value: 'a' }).filters.tag, ['b'])
  t.same(withoutTerm(more, { filter: 'q', value: 'refund order' }).filters.q, undefined)
  fc.assert(
    fc.property(queries, ({ filters }) => {
      const none: ListQuery = { filters: {}, sort: 'newest' }
      const all = withTerms(none, filterTerms(filters))
      t.same(all.filters, filters)
      t.same(
        filterTerms(filters).reduce((left, term) => withoutTerm(left, term), all),
        none
      )
    })
  )
})

t.test('a list without a time covers the last 7 days, or all time on request', async t => {
  const now = { now: Date.parse('2026-11-25T10:20:00Z'), offset: 0 }
  t.same(listedTime(readQuery(''), now), { from: '2026-11-18T11:00:00.000Z' })
  t.same(listedTime(readQuery('?range=all'), now), {})
  t.same(listedTime(readQuery('?to=2026-11-20T00:00:00Z'), now), { to: '2026-11-20T00:00:00Z' })
  t.equal(rangeName('all'), 'All time')
})

t.test('a different filter or time starts at the first page', async t => {
  const query = readQuery('?model=m&after=c')
  t.same(narrowed(query, { status: 'error' }), { filters: { model: 'm', status: 'error' }, sort: 'newest' })
  t.same(narrowed(query, { model: undefined }), { filters: {}, sort: 'newest' })
  t.same(withTime(query, { range: '1h' }), { filters: { model: 'm' }, sort: 'newest', range: '1h' })
  t.equal(countFilters(readQuery('?model=m&status=ok&range=1h')), 3)
})

t.test('runs only is a filter, which counts over time do not support', async t => {
  const query = withRunsOnly(readQuery('?model=m&after=c'), true)
  t.same(query, { filters: { model: 'm' }, runsOnly: true, sort: 'newest' })
  t.equal(writeQuery(query), '?model=m&runs=only')
  t.equal(countFilters(query), 2)
  t.notOk(isCounted(query))
  t.same(withSort(query, 'slowest'), { ...query, sort: 'slowest' })
  t.same(withRunsOnly(query, false), readQuery('?model=m&runs=1'))
})

t.test("the server is queried with the API's names", async t => {
  const now = { now: Date.parse('2026-11-25T10:02:00Z'), offset: 0 }
  t.equal(
    toServer(readQuery('?runs=only&range=all&tag=a&tag=b&failed=true'), now),
    '?errors=true&runsOnly=true&tag=a&tag=b'
  )
  const parameters = new URLSearchParams(toServer(readQuery('?env=prod&session=a%2Fb&range=1h'), now))
  t.same(Object.fromEntries(parameters), { environment: 'prod', sessionId: 'a/b', from: '2026-11-25T09:05:00.000Z' })
})

t.test('pages are restored from their paths', async t => {
  const slug = fc.stringMatching(/^[a-z0-9-]{1,20}$/)
  const id = fc.stringMatching(/^[0-9a-f]{32}$/)
  const pages: fc.Arbitrary<Page> = fc.oneof(
    fc.constantFrom<Page>({ page: 'home' }, { page: 'sign-in' }, { page: 'account' }),
    slug.map((slug): Page => ({ page: 'traces', slug })),
    fc.tuple(slug, id).map(([slug, traceId]): Page => ({ page: 'trace', slug, traceId })),
    fc.tuple(slug, fc.constantFrom(...SETTINGS)).map(([slug, tab]): Page => ({ page: 'settings', slug, tab })),
    id.map((traceId): Page => ({ page: 'find', traceId }))
  )
  fc.assert(fc.property(pages, page => t.same(readPath(pathOf(page)), page)))
  for (const path of [
    'p',
    'p/',
    'p/a/nothing',
    'p/a/traces/1',
    'x',
    'p/a/settings/none',
    'p/a/traces/%E0%A4%A',
    'a/b/c/d/e'
  ]) {
    t.same(readPath(path), { page: 'nowhere' }, path)
  }
  t.same(readPath('p/a'), { page: 'traces', slug: 'a' })
})

t.test('numbers have units and no more digits than necessary', async t => {
  t.same([0, 640, 4210, 9_999, 59_990, 61_000, 3_600_000, 18_720_000, 273_600_000].map(formatDuration), [
    '0 ms',
    '640 ms',
    '4.21 s',
    '10.0 s',
    '1 min',
    '1 min 1 s',
    '1 h',
    '5 h 12 min',
    '3 d 4 h'
  ])
  t.same([0, 812, 18_400, 999_600, 1_200_000, 12_000_000].map(formatBytes), [
    '0 B',
    '812 B',
    '18 kB',
    '1.0 MB',
    '1.2 MB',
    '12 MB'
  ])
  t.same([10 * 2 ** 30, 2 ** 41, 512 * 2 ** 20, 10_000_000_000].map(formatLimit), [
    '10 GiB',
    '2 TiB',
    '512 MiB',
    '10 GB'
  ])
  t.same(
    [null, 0, 0.0000001, 0.0000002, 0.00123, 0.0123, 0.5, 1204.5].map(usd => formatCost(usd)),
    ['–', '$0', '< $0.000001', '< $0.000001', '$0.00123', '$0.0123', '$0.50', '$1,204.50']
  )
  t.same([true, false, 'correct', 0.92, 1 / 3, 12_000].map(formatScore), [
    'yes',
    'no',
    'correct',
    '0.92',
    '0.3333',
    '12,000'
  ])
})

t.test('times are in the chosen zone', async t => {
  const at = '2026-11-25T09:41:07.123Z'
  t.equal(clockTime(at, 'utc'), '09:41:07')
  t.equal(fullTime('2026-11-25T09:41:07.123456Z', 'utc'), '2026-11-25 09:41:07.123456 UTC')
  t.equal(shortTime(at, 'utc', new Date('2026-11-25T23:00:00Z')), '09:41:07')
  t.equal(shortTime(at, 'utc', new Date('2026-11-26T01:00:00Z')), '25 Nov 09:41:07')
  t.equal(shortTime(at, 'utc', new Date('2027-11-26T01:00:00Z')), '25 Nov 2026, 09:41')
  t.equal(fromInput(toInput(at, 'utc'), 'utc'), '2026-11-25T09:41:00.000Z')
  t.equal(fromInput(toInput(at, 'local'), 'local'), '2026-11-25T09:41:00.000Z')
  t.equal(fromInput('', 'utc'), undefined)
  t.equal(rangeMs('24h'), 86_400_000)
  t.same(
    ['0h', '2y', 'h', '24', ' 1h'].map(range => rangeMs(range)),
    [undefined, undefined, undefined, undefined, undefined]
  )
  t.equal(rangeMs('1y'), 365 * 86_400_000)
  t.equal(rangeName('1h'), 'Last hour')
  t.equal(rangeName('1y'), 'Last year')
  t.equal(ago(at, Date.parse(at) + 300_000), '5 min ago')
})

t.test('columns are the known ones, in the chosen order', async t => {
  t.same(
    chooseColumns(['cost', 'none', 'cost', 'score:helpful', 'score:<b>']).map(({ name }) => name),
    ['name', 'cost', 'score:helpful']
  )
  const odd = ['release', 'a,b', 'customer.plan', 'x:y "ü"']
  const names = odd.map(metadataColumn)
  t.notOk(
    names.some(name => name.includes(',')),
    'an address separates columns by commas'
  )
  t.same(names.map(metadataOfColumn), odd)
  t.same(
    chooseColumns([...names, 'metadata:', 'metadata:%zz']).map(({ title }) => title),
    ['Name', ...odd]
  )
  t.same(['cost', 'score:release', 'metadata:%zz'].map(metadataOfColumn), [undefined, undefined, undefined])
  t.same(moveColumn(['a', 'b', 'c'], 'b', -1), ['b', 'a', 'c'])
  t.same(moveColumn(['a', 'b', 'c'], 'c', 1), ['a', 'b', 'c'])
})

t.test("an empty list shows the README's variables, and a trace that lasts a second", async t => {
  const readme = await readFile(new URL('README.md', import.meta.resolve('#package.json')), 'utf8')
  t.ok(readme.includes(otlpVariables('http://127.0.0.1:8787')), 'OpenTelemetry')
  const curl = curlOfFirstTrace('http://127.0.0.1:8787', new Date('2026-11-26T13:00:00Z'))
  t.match(curl, 'Bearer $SPOOR_API_KEY')
  t.match(curl, '"startedAt": "2026-11-26T12:59:59.000Z", "endedAt": "2026-11-26T13:00:00.000Z"')
})
