/** Sums of a project's traces over time: traces, errors, tokens, costs and durations. */
import type { App } from '../lib/app.ts'
import type { Client } from '../lib/database/pooled/cancellation.ts'
import { checkQueryTexts, refuseField } from '../lib/http/refuse.ts'
import { WEIGHTS } from '../lib/limits/large-reads.ts'
import { MOST_DAYS, STEPS } from '../lib/rollups/period.ts'
import { alignedTime, countIntervals, readSplit, SPLIT_RULE, type UsageTime } from '../lib/rollups/usage.ts'
import { USUAL_GROUPS, UsageQuery, UsageReply } from '../lib/schema/history/usage.ts'
import { readTotal } from '../lib/store/analytics/rollups/read-series.ts'
import { readCountedFrom } from '../lib/store/analytics/rollups/sums.ts'
import { readExactUsage, type UsageAsked } from '../lib/store/analytics/usage/exact.ts'
import { readUsageFields } from '../lib/store/analytics/usage/made-hours.ts'
import { type MadeAsked, readMadeUsage } from '../lib/store/analytics/usage/made-sums.ts'
import { MOST_EXACT, type UsageFilters } from '../lib/store/analytics/usage/matching.ts'
import type { PeriodSums } from '../lib/store/analytics/usage/rows.ts'
import { withScores } from '../lib/store/analytics/usage/score-means.ts'
import { readSummedUsage, summedField } from '../lib/store/analytics/usage/summed.ts'
import { explainEmpty } from '../lib/store/hints/explain-empty.ts'
import { readTime } from './paging.ts'

const USUAL_MS = 7 * STEPS.day
/** Maximum number of rows in a response. */
const MOST_ROWS = 10_000

export default function usage(app: App): void {
  app.route({
    method: 'GET',
    path: '/api/v1/usage',
    operation: 'getUsage',
    access: 'traces:read',
    summary: 'Get usage over time',
    description:
      'Returns counts, errors, tokens, costs and durations of the finished traces that started in the period. If it ' +
      'has up to 20,000 traces, each is read individually and all numbers are exact; otherwise, hourly or daily ' +
      'totals are used (`approximate`). Filters combine with AND. With more than 20,000 matching traces, you can ' +
      'filter only by environment, name and model, and group only by one of these or not at all.',
    query: UsageQuery,
    replies: { 200: UsageReply },
    errors: ['invalid_request'],
    handler: async request => ({ body: await readUsage(app, request.key.projectId, request.query, request) })
  })
}

async function readUsage(app: App, projectId: number, query: UsageQuery, client: Client): Promise<UsageReply> {
  const asked = readUsageQuery(query)
  const work = async (): Promise<UsageReply> => {
    const exact = (await isKnownLarge(app, projectId, asked, client))
      ? undefined
      : await app.sql.readOf(projectId, (sql, names) => readExactUsage(sql, projectId, asked, names), client)
    const hint =
      exact?.total.traces === 0 || isUnknownTag(asked, exact) ? await readHint(app, projectId, asked, client) : null
    if (exact !== undefined) {
      const shown = query.scores === true ? await readScores(app, projectId, exact, asked, client) : exact
      return replyOf(query, asked, { ...shown, hint })
    }
    if (query.scores === true) refuseField('scores', MANY_SCORES)
    const { split, interval, limit, sort, stepKind, filters = {} } = asked
    const period = alignedTime(asked)
    const field = split && summedField(split)
    refuseUnsummed(asked)
    if (split !== undefined && field === undefined) {
      const made = { period, interval, field: query.by as string, limit, sort, stepKind }
      return readMade(app, projectId, query, made, client)
    }
    const [sums, countedFrom] = await app.sql.read(
      async sql => [
        await readSummedUsage(sql, projectId, { period, interval, field, limit, sort, filters }),
        await readCountedFrom(sql, projectId)
      ],
      client
    )
    return replyOf(query, { ...asked, ...period }, { ...sums, hint, countedFrom, approximate: true })
  }
  return app.largeReads.run(projectId, work, { weight: WEIGHTS.analysis, client })
}

const MANY_SCORES = 'cannot be included: the period has more than 20,000 traces or 200,000 scores; use a shorter period'

async function readScores(app: App, projectId: number, sums: PeriodSums, asked: UsageAsked, client: Client) {
  const found = await app.sql.readOf(projectId, (sql, names) => withScores(sql, projectId, sums, asked, names), client)
  return found ?? refuseField('scores', MANY_SCORES)
}

/** Returns whether rollups support the filters and count too many matching traces to read each one. */
async function isKnownLarge(app: App, projectId: number, asked: UsageAsked, client: Client): Promise<boolean> {
  const { filters, split } = asked
  if (filters === undefined || findUnsummed(filters, split) !== undefined) return false
  const [total] = await app.sql.read(sql => readTotal(sql, projectId, alignedTime(asked), filters), client)
  return total !== undefined && total.traces > MOST_EXACT.traces
}

/** Rejects filters that stored sums do not support. */
function refuseUnsummed({ filters, split }: UsageAsked): void {
  if (filters === undefined) return
  const unsummed = findUnsummed(filters, split)
  if (unsummed === undefined) return
  refuseField(
    unsummed,
    'cannot be combined with these filters if more than 20,000 traces match: use a shorter period, or filter only by ' +
      'environment, name and model and group by one of these'
  )
}

/** Returns the parameter for which rollups have no sums; undefined if there is none. */
function findUnsummed({ tag, userId, sessionId }: UsageFilters, split: UsageAsked['split']): string | undefined {
  const [filter] = Object.entries({ tag, userId, sessionId }).find(([, value]) => value !== undefined) ?? []
  return filter ?? (split === undefined || summedField(split) !== undefined ? undefined : 'by')
}

/** Reads sums by user, step or tag. */
async function readMade(app: App, projectId: number, query: UsageQuery, asked: MadeAsked, client: Client) {
  const { field, period, interval } = asked
  const sums = await app.sql.read(async sql => {
    if (!(await readUsageFields(sql, projectId)).includes(field)) {
      const key = field.slice('tag:'.length)
      refuseField(
        'by',
        `totals by ${field} are not stored, and the period has more than 20,000 traces; use a shorter one, or turn ` +
          `these totals on with \`spoor project update SLUG --usage-tags ${key}\``
      )
    }
    return readMadeUsage(sql, projectId, asked)
  }, client)
  const countedFrom = sums.from > period.from ? isoOf(sums.from) : null
  return replyOf(
    query,
    { from: sums.from, to: sums.to, interval },
    { ...sums, hint: null, countedFrom, approximate: true }
  )
}

type Found = PeriodSums & Pick<UsageReply, 'hint'> & Partial<Pick<UsageReply, 'approximate' | 'countedFrom'>>

function replyOf({ by }: UsageQuery, { from, to, interval }: UsageTime, found: Found): UsageReply {
  const { total, rows, others, hint, approximate = false, countedFrom = null } = found
  return {
    from: isoOf(from),
    to: isoOf(to),
    by: by ?? null,
    interval,
    approximate,
    countedFrom,
    total,
    rows: [...rows],
    others,
    hint
  }
}

const isoOf = (ms: number): string => new Date(ms).toISOString()

/** Reads the parameters and checks rules that their schema cannot express. Throws `invalid_request`. */
function readUsageQuery(query: UsageQuery): UsageAsked {
  checkQueryTexts(query)
  const { interval = 'none', limit = USUAL_GROUPS } = query
  const split = query.by === undefined ? undefined : (readSplit(query.by) ?? refuseField('by', SPLIT_RULE))
  const to = msOf('to', query.to) ?? Date.now()
  const from = msOf('from', query.from) ?? Math.max(YEAR_1, nextWhole(to, interval) - USUAL_MS)
  if (to <= from) {
    refuseField('to', query.to === undefined ? 'is required if `from` is in the future' : 'must be later than `from`')
  }
  if (to - from > MOST_DAYS * STEPS.day) refuseField('from', `must be at most ${MOST_DAYS} days before \`to\``)
  const { environment, name, model, tag, userId, sessionId, sort, stepKind } = query
  const given = { environment: environment?.toLowerCase(), name, model, tag, userId, sessionId }
  const filters = Object.values(given).some(value => value !== undefined) ? given : undefined
  if (stepKind !== undefined && split?.field !== 'step') refuseField('stepKind', 'requires `by=step`')
  if (query.scores === true && split?.field === 'step') refuseField('scores', 'cannot be combined with `by=step`')
  const asked = { from, to, interval, split, limit, sort, stepKind, filters }
  const rows = countIntervals(asked) * (split === undefined ? 1 : limit + 1)
  if (rows > MOST_ROWS) {
    refuseField('interval', `would return up to ${rows} rows; use a shorter period, a longer interval or a lower limit`)
  }
  return asked
}

/**
 * Returns the end of the hour or day that contains the time, so that the default period begins with a whole hour or
 * day.
 */
function nextWhole(ms: number, interval: UsageAsked['interval']): number {
  const step = interval === 'none' ? 1 : STEPS[interval]
  return Math.ceil(ms / step) * step
}

/** PostgreSQL cannot express earlier times in ISO 8601. */
const YEAR_1 = Date.parse('0001-01-01T00:00:00Z')

function msOf(name: string, text: string | undefined): number | undefined {
  const time = readTime(name, text)
  return time === undefined ? undefined : Date.parse(time)
}

/** Whether none of the traces has a tag with the key. */
const isUnknownTag = ({ split }: UsageAsked, sums: PeriodSums | undefined): boolean =>
  split?.field === 'tag' && sums !== undefined && sums.rows.every(({ key, isOther }) => key === null && !isOther)

function readHint(app: App, projectId: number, asked: UsageAsked, client: Client): Promise<string> {
  const { from, to, split, filters: { tag, ...filters } = {} } = asked
  const tagKey = split?.field === 'tag' ? split.tagKey : undefined
  const sought = tagKey === undefined ? 'ended trace' : `ended trace with a tag "${tagKey}:…"`
  const tags = tag === undefined ? [] : [tag]
  const values = { ...filters, tags, tagKey, from: isoOf(from), to: isoOf(to) }
  return app.sql.readOf(projectId, (sql, names) => explainEmpty(sql, projectId, { sought, values }, names), client)
}
