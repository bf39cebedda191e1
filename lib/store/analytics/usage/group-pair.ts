/**
 * Reads two groups of traces of one period: their sums in total and per step of time, their scores and examples. Only
 * the newest traces of a period are read, so that the work is limited regardless of the groups.
 */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES } from '../../../database/tables.ts'
import { countSteps, type Period } from '../../../rollups/period.ts'
import { exactTotal, NO_TRACES, stepListsOf } from '../../../rollups/series.ts'
import { MAX_SCORES } from '../../../schema/input.ts'
import { readFoundSummaries } from '../../finding/found-summaries.ts'
import { compareScores, type ScoresOfSide } from '../scored/compared.ts'
import { ofPeriod } from './exact.ts'
import { filtersInSql, type PeriodFilters, readExactPeriods } from './exact-periods.ts'
import { MOST_EXACT } from './matching.ts'

/** Maximum number of scores per group. */
const MOST_COMPARED = 20_000
/** Number of failed traces, and of other traces, that are examples of a group. */
const EXAMPLES = 3

export interface PairAsked {
  readonly period: Period
  readonly a: PeriodFilters
  readonly b: PeriodFilters
}

/** `most` is for tests. */
export async function readGroupPair(
  sql: Sql,
  projectId: number,
  { period, a, b }: PairAsked,
  most = MOST_EXACT.traces
) {
  const since = await readSince(sql, projectId, period, most)
  const read = (filters: PeriodFilters) => readGroup(sql, projectId, { period, since: since ?? period.from, filters })
  const [ofA, ofB] = [await read(a), await read(b)]
  const { scores, ...sideA } = ofA
  const { scores: others, ...sideB } = ofB
  return {
    since: since === undefined ? null : new Date(since).toISOString(),
    a: sideA,
    b: sideB,
    scores: compareScores(scores, others)
  }
}

/** Returns the time from which the period has few enough traces; undefined if the whole period does. */
async function readSince(sql: Sql, projectId: number, { from, to }: Period, most: number): Promise<number | undefined> {
  const [row] = await sql<{ ms: number }[]>`
    select ceil(extract(epoch from started_at) * 1000 + 0.001)::float8 as ms from traces
    where project_id = ${projectId} and started_at >= to_timestamp(${from / 1000}::float8)
      and started_at < to_timestamp(${to / 1000}::float8)
    order by started_at desc, id desc offset ${most} limit 1`
  return row?.ms
}

interface GroupAsked {
  readonly period: Period
  readonly since: number
  readonly filters: PeriodFilters
}

async function readGroup(sql: Sql, projectId: number, asked: GroupAsked) {
  const { period, since, filters } = asked
  const limits = { limit: 1, charted: 1 }
  const rows = (await readExactPeriods(sql, projectId, { period, before: since, filters, ...limits }, ANY)) ?? []
  const whole = rows.find(({ at }) => at === null)
  const steps = new Map(rows.flatMap(row => (row.at === null ? [] : [[row.at, exactTotal(row)]])))
  return {
    total: whole === undefined ? NO_TRACES : exactTotal(whole),
    ...stepListsOf(steps, countSteps(period)),
    examples: await readExamples(sql, projectId, asked),
    scores: await readScores(sql, projectId, asked)
  }
}

/** The time already limits the traces. Traces that arrive meanwhile are read as well. */
const ANY = { traces: 2 ** 31 - 2, steps: 2 ** 31 - 2 }

/** SQL for the group's ended traces. Parameters 1 to 3 are the project and the bounds of the period. */
function tracesOf(projectId: number, { period, since, filters }: GroupAsked) {
  const values: (string | number)[] = [projectId, since, period.to]
  const conditions = filtersInSql(filters, value => `$${values.push(value)}`)
  return { values, from: `${ofPeriod(SCHEMA_NAMES)} and t.ended_at is not null${conditions}` }
}

/** Returns the newest failed traces and the newest other traces, as a JSON array string. */
async function readExamples(sql: Sql, projectId: number, asked: GroupAsked): Promise<string> {
  const { values, from } = tracesOf(projectId, asked)
  const newest = (isFailed: string) => `
    (select t.seq, t.id from ${from} and ${isFailed} t.status = 'error' order by t.started_at desc, t.id desc
    limit ${EXAMPLES})`
  const found = await sql.unsafe<{ seq: number; id: string }[]>(`${newest('')} union all ${newest('not')}`, values, {
    prepare: true
  })
  return readFoundSummaries(
    sql,
    projectId,
    found.map(({ seq, id }) => ({ seq, id, excerpts: [] })),
    SCHEMA_NAMES
  )
}

/** Separates JSON values, which cannot contain this character. */
const SEPARATOR = '\u0001'

async function readScores(sql: Sql, projectId: number, asked: GroupAsked): Promise<ScoresOfSide[]> {
  const { values, from } = tracesOf(projectId, asked)
  // The `order by` of the inner query makes PostgreSQL use the primary key of scores.
  const rows = await sql.unsafe<{ name: string; dataType: string; values: string }[]>(
    `select name, data_type as "dataType", string_agg(value, E'\\x01') as values from (
      select s.* from (
        select t.seq from ${from} and t.score_count > 0 order by t.started_at desc, t.id desc limit ${MOST_COMPARED}
      ) own cross join lateral (
        select name, data_type, value::text as value from scores
        where project_id = $1 and trace_seq = own.seq order by trace_seq, seq limit ${MAX_SCORES}
      ) s limit ${MOST_COMPARED}
    ) scored group by 1, 2`,
    values,
    { prepare: true }
  )
  return rows.map(({ values, ...row }) => ({ ...row, values: values.split(SEPARATOR).map(each => JSON.parse(each)) }))
}
