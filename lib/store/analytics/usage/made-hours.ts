/**
 * Computes sums by user, step and tag for hours that are over, and from these the sums of days. Costs that spoor
 * computed (computed-costs.ts) are summed in the same way. One transaction computes all sums of an hour from its
 * traces. A transaction that folds or recounts deltas of an hour deletes the hour's sums and those of its day. Readers
 * do not use the sums of hours that have deltas in rollup_news. In every snapshot, the sums that readers use therefore
 * equal the sums of the traces.
 */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES } from '../../../database/tables.ts'
import { latencyInSql } from '../../../rollups/latency.ts'
import { STEPS } from '../../../rollups/period.ts'
import { readSplit } from '../../../rollups/usage.ts'
import { inTransaction } from '../../transactions.ts'
import { dayOf, hourOf, lockRollups } from '../rollups/deltas.ts'
import { COMPUTED_COSTS, COMPUTED_ITEMS } from './computed-costs.ts'
import { foundTraces, itemsOf } from './exact.ts'
import { forgetUsage } from './forgotten-sums.ts'
import { isMarkOf, msOf, rollupVersions } from './marks.ts'
import { timeOf } from './matching.ts'
import { readUsageTags } from './tag-keys.ts'

/** Maximum number of groups per hour and per day. The others are summed in one row. */
const ROOM = { hour: 500, day: 2000 }
/** Delay between an hour's end and the computation of its sums. Most traces have arrived by then. */
const PAUSE_MS = 600_000
/** The traces of smaller projects, and their steps, are few enough to be read one by one. */
const FEW_TRACES = 20_000
const STEPS_OF_FEW = 10
/** Hours with more traces have no sums, because their computation would hold the lock on rollups too long. */
const MOST_OF_HOUR = 1_000_000
/** Maximum numbers of hours and of days that are found at a time. */
const PORTION = 8
/** Fields by which every project's usage is summed. */
const FIELDS = ['step', 'user']

const AMOUNTS = 'traces, steps, errors, priced, input_tokens, output_tokens, cost, computed, latency'
const COLUMNS = `project_id, length, start, field, part, list, ${AMOUNTS}, kind, key`

/** Returns the fields by which the project's usage is summed. */
export async function readUsageFields(sql: Sql, projectId: number): Promise<string[]> {
  return [...FIELDS, ...(await readUsageTags(sql, projectId)).map(key => `tag:${key}`)]
}

/** Whether the project has enough traces for sums to be worth computing. */
async function hasMany(sql: Sql, projectId: number, few: number): Promise<boolean> {
  const [row] = await sql<[{ traces: number; spans: number }]>`
    select coalesce(sum(traces), 0)::float8 as traces, coalesce(sum(spans), 0)::float8 as spans
    from project_totals where project_id = ${projectId}`
  return row.traces > few || row.spans > few * STEPS_OF_FEW
}

const isWithin = `start >= ${timeOf('$2')} and start < ${timeOf('$3')}`
const hasMark = (row: string) => `exists (
  select from usage_sums u where u.project_id = $1::int and u.length = 'h' and u.start = ${row}.start and u.part = 'm'
)`

/** Finds the newest hours from $2 to $3 that lack the sums of a field, or have sums but no traces any longer. */
const FIND_HOURS = `
  with news as materialized (
    select distinct ${hourOf('started_at')} as hour from rollup_news where project_id = $1::int
  ), hours as materialized (${rollupVersions('hour', isWithin)})
  select ${msOf('h.start')} as start from hours h
  where h.start not in (select hour from news) and h.traces <= ${MOST_OF_HOUR} and case when h.traces > 0
    then (
      select count(*) from usage_sums u where ${isMarkOf('hour', 'any ($4::text[])', 'h')}
    ) < cardinality($4::text[])
    else ${hasMark('h')} end
  order by h.start desc limit $5::int`

/** Finds the newest days from $2 to $3 that lack the sums of the field $4, although all of their hours have them. */
const FIND_DAYS = `
  with hours as materialized (${rollupVersions('hour', isWithin)}),
  days as materialized (${rollupVersions('day', isWithin)}),
  complete as materialized (
    select ${dayOf('h.start')} as start from hours h group by 1 having bool_and(
      case when h.traces > 0 then exists (select from usage_sums u where ${isMarkOf('hour', '$4::text', 'h')})
      else not ${hasMark('h')} end
    )
  )
  select ${msOf('d.start')} as start from days d join complete c on c.start = d.start
  where d.traces > 0 and not exists (select from usage_sums u where ${isMarkOf('day', '$4::text', 'd')})
  order by d.start desc limit $5::int`

const HOUR_OF_TRACES = `traces t
  where t.project_id = $1::int and t.started_at >= to_timestamp($2::float8 / 1000)
    and t.started_at < to_timestamp($2::float8 / 1000) + interval '1 hour'`

/** Readers follow the index, which has an hour's or a day's rows in this order, so neighbours should share a page. */
const IN_ORDER = 'order by list'

/** Parameters: the project, the hour, the field and the tag's key. */
function makeHourStatement(field: string): string {
  const isOfSteps = field === 'step'
  return `
  insert into usage_sums (${COLUMNS})
  select ${COLUMNS} from (with ${foundTraces(SCHEMA_NAMES, HOUR_OF_TRACES)},
  items as (${field === COMPUTED_COSTS ? COMPUTED_ITEMS : itemsOf(SCHEMA_NAMES, readSplit(field))}),
  groups as (
    select project_id, key, kind, count(${isOfSteps ? 'distinct seq' : '*'}) as traces,
      ${isOfSteps ? 'count(*)' : '0'} as steps, sum(errors) as errors, sum(priced) as priced,
      sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens, sum(cost) as cost,
      coalesce(sum(cost) filter (where is_computed), 0) as computed, sum(${latencyInSql('duration_ms')}) as latency
    from items where $4::text is not null group by project_id, key, kind
  ), ${rankedParts(ROOM.hour)}
  ${partRows(`'h'`, timeOf('$2'))}
  union all
  select project_id, 'h', start, $3::text, 'm', 0, ${markAmounts}, null, null
  from (${rollupVersions('hour', `start = ${timeOf('$2')}`)}) v where traces > 0) made
  ${IN_ORDER}`
}
const markAmounts = AMOUNTS.replace(/\w+/g, name => (name === 'traces' ? 'version' : '0'))

const rankedParts = (room: number) => `ranked as (
    select groups.*, least(row_number() over (order by traces desc, steps desc, key, kind), ${room + 1}) as list
    from groups
  )`

/** SQL for a group's or the rest's row, from `ranked`. The rest has the list after the last group's. */
const partRows = (length: string, start: string, room = ROOM.hour) => `
  select project_id, ${length}::"char" as length, ${start} as start, $3::text as field,
    (case when list > ${room} then 'r' else 'g' end)::"char" as part, list, ${AMOUNTS.replace(/\w+/g, 'sum($&) as $&')},
    case when list > ${room} then null else min(kind) end as kind,
    case when list > ${room} then null else min(key) end as key
  from ranked group by project_id, list`

/** Parameters: the project, the day and the field. */
const MAKE_DAY = `
  insert into usage_sums (${COLUMNS})
  select ${COLUMNS} from (with hours as materialized (
    select ${COLUMNS} from usage_sums
    where project_id = $1::int and length = 'h' and field = $3::text and start >= to_timestamp($2::float8 / 1000)
      and start < to_timestamp($2::float8 / 1000) + interval '1 day'
  ), groups as (
    select project_id, key, kind, part, ${AMOUNTS.replace(/\w+/g, 'sum($&) as $&')}
    from hours where part <> 'm' group by project_id, key, kind, part
  ), ranked as (
    select groups.*, case when part = 'r' then ${ROOM.day + 1}
      else least(row_number() over (order by part, traces desc, steps desc, key, kind), ${ROOM.day + 1}) end as list
    from groups
  )
  ${partRows(`'d'`, timeOf('$2'), ROOM.day)}
  union all
  select project_id, 'd', start, $3::text, 'm', 0, ${markAmounts}, null, null
  from (${rollupVersions('day', `start = ${timeOf('$2')}`)}) v where traces > 0) made
  ${IN_ORDER}`

/** Hours and days whose sums are missing. Starts are in milliseconds since 1970. */
export interface MissingUsage {
  readonly fields: readonly string[]
  readonly hours: readonly number[]
  readonly days: readonly { readonly field: string; readonly start: number }[]
}

type Find = readonly [from: number, to: number, field: string | readonly string[], most: number]
const find = async (sql: Sql, statement: string, projectId: number, values: Find): Promise<number[]> => {
  const rows = await sql.unsafe<{ start: number }[]>(statement, [projectId, ...values] as never[], { prepare: true })
  return rows.map(({ start }) => start)
}

/** Finds missing sums of hours and days that are over, newest first. `few` is for tests. */
export async function findMissingUsage(
  sql: Sql,
  projectId: number,
  now = Date.now(),
  few = FEW_TRACES
): Promise<MissingUsage | undefined> {
  if (!(await hasMany(sql, projectId, few))) return undefined
  const fields = [...(await readUsageFields(sql, projectId)), COMPUTED_COSTS]
  const endOf = (step: number) => Math.floor((now - PAUSE_MS) / step) * step
  const hours = await find(sql, FIND_HOURS, projectId, [YEAR_1, endOf(STEPS.hour), fields, PORTION])
  const days: { field: string; start: number }[] = []
  for (const field of fields) {
    const starts = await find(sql, FIND_DAYS, projectId, [YEAR_1, endOf(STEPS.day), field, PORTION - days.length])
    days.push(...starts.map(start => ({ field, start })))
    if (days.length === PORTION) break
  }
  return hours.length + days.length === 0 ? undefined : { fields, hours, days }
}
const YEAR_1 = Date.parse('0001-01-01T00:00:00Z')

/**
 * Computes missing sums, alternating between hours and days, each in its own transaction. Stops early if `isClosed`
 * returns true.
 */
export async function makeUsage(
  sql: Sql,
  projectId: number,
  { fields, hours, days }: MissingUsage,
  isClosed: () => boolean = () => false
): Promise<void> {
  for (let i = 0; i < Math.max(hours.length, days.length); i++) {
    const [hour, day] = [hours[i], days[i]]
    if (hour !== undefined && !isClosed()) await makeHour(sql, projectId, fields, hour)
    if (day !== undefined && !isClosed()) await makeDay(sql, projectId, day.field, day.start)
  }
}

/** Computes an hour's sums, unless a trace of the hour has changed since the hour was found. */
function makeHour(sql: Sql, projectId: number, fields: readonly string[], start: number): Promise<void> {
  return inTransaction(sql, async () => {
    await lockRollups(sql, projectId)
    const still = await find(sql, FIND_HOURS, projectId, [start, start + STEPS.hour, fields, 1])
    if (still.length === 0) return
    await forgetUsage(sql, projectId, [new Date(start).toISOString()])
    for (const field of fields) {
      const split = readSplit(field)
      const tagKey = split?.field === 'tag' ? split.tagKey : ''
      await sql.unsafe(makeHourStatement(field), [projectId, start, field, tagKey], { prepare: true })
    }
  })
}

/** Computes a day's sums of a field from its hours, unless one of these has been deleted since the day was found. */
function makeDay(sql: Sql, projectId: number, field: string, start: number): Promise<void> {
  return inTransaction(sql, async () => {
    await lockRollups(sql, projectId)
    const still = await find(sql, FIND_DAYS, projectId, [start, start + STEPS.day, field, 1])
    if (still.length === 0) return
    await sql`
      delete from usage_sums
      where project_id = ${projectId} and length = 'd' and start = ${new Date(start)} and field = ${field}`
    await sql.unsafe(MAKE_DAY, [projectId, start, field], { prepare: true })
  })
}
