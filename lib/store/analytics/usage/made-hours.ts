/**
 * Computes sums by user, step and tag for hours that are over, and from these the sums of days. One transaction
 * computes all sums of an hour from its traces. A transaction that folds or recounts deltas of an hour deletes the
 * hour's sums and those of its day. Readers do not use the sums of hours that have deltas in rollup_news. In every
 * snapshot, the sums that readers use therefore equal the sums of the traces.
 */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES } from '../../../database/tables.ts'
import { latencyInSql } from '../../../rollups/latency.ts'
import { LEVELS } from '../../../rollups/levels.ts'
import { readSplit } from '../../../rollups/usage.ts'
import { inTransaction } from '../../transactions.ts'
import { dayOf, hourOf, lockRollups } from '../rollups/deltas.ts'
import { foundTraces, itemsOf } from './exact.ts'
import { forgetUsage } from './forgotten-sums.ts'
import { readUsageTags } from './tag-keys.ts'

/** Maximum number of groups per hour and per day. The others are summed in one row. */
const ROOM = { hour: 500, day: 2000 }
/** Delay between an hour's end and the computation of its sums. Most traces have arrived by then. */
const PAUSE_MS = 600_000
/** The traces of smaller projects, and their steps, are few enough to be read one by one. */
const FEW_TRACES = 20_000
const STEPS_OF_FEW = 10
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

/** Finds the newest hour that is over, has traces and lacks the sums of a field. */
const FIND_HOUR = `
  with news as materialized (
    select distinct ${hourOf('started_at')} as hour from rollup_news where project_id = $1::int
  )
  select (extract(epoch from r.start) * 1000)::float8 as start from rollups r
  where r.project_id = $1::int and r.level = '${LEVELS.hour.environment}' and r.traces > 0
    and r.start < ${hourOf('to_timestamp($2::float8)')}
    and (
      select count(*) from usage_sums u
      where u.project_id = $1::int and u.length = 'h' and u.start = r.start and u.field = any ($3::text[])
        and u.part = 'm' and u.list = 0
    ) < $4::int
    and r.start not in (select hour from news)
  order by r.start desc limit 1`

/** Finds the newest day that is over and whose hours with traces all have sums of the field. */
const FIND_DAY = `
  select (extract(epoch from day) * 1000)::float8 as start from (
    select ${dayOf('r.start')} as day, bool_and(u.start is not null) as is_made
    from (
      select distinct project_id, start from rollups
      where project_id = $1::int and level = '${LEVELS.hour.environment}' and traces > 0
        and start < ${dayOf('to_timestamp($2::float8)')}
    ) r left join usage_sums u
      on u.project_id = $1::int and u.length = 'h' and u.start = r.start and u.field = $3::text and u.part = 'm'
    group by 1
  ) days
  where is_made and not exists (
    select from usage_sums d
    where d.project_id = $1::int and d.length = 'd' and d.start = day and d.field = $3::text and d.part = 'm'
  )
  order by day desc limit 1`

const HOUR_OF_TRACES = `traces t
  where t.project_id = $1::int and t.started_at >= to_timestamp($2::float8 / 1000)
    and t.started_at < to_timestamp($2::float8 / 1000) + interval '1 hour'`

/** Parameters: the project, the hour, the field and the tag's key. */
function makeHourStatement(field: string): string {
  const isOfSteps = field === 'step'
  return `
  insert into usage_sums (${COLUMNS})
  select ${COLUMNS} from (with ${foundTraces(SCHEMA_NAMES, HOUR_OF_TRACES)},
  items as (${itemsOf(SCHEMA_NAMES, readSplit(field))}),
  groups as (
    select project_id, key, kind, count(${isOfSteps ? 'distinct seq' : '*'}) as traces,
      ${isOfSteps ? 'count(*)' : '0'} as steps, sum(errors) as errors, sum(priced) as priced,
      sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens, sum(cost) as cost,
      coalesce(sum(cost) filter (where is_computed), 0) as computed, sum(${latencyInSql('duration_ms')}) as latency
    from items where $4::text is not null group by project_id, key, kind
  ), ${rankedParts(ROOM.hour)}
  ${partRows(`'h'`, 'to_timestamp($2::float8 / 1000)')}
  union all
  select project_id, 'h', to_timestamp($2::float8 / 1000), $3::text, 'm', 0, ${zeros}, null, null
  from found group by project_id) made`
}
const zeros = AMOUNTS.replace(/\w+/g, '0')

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
  ${partRows(`'d'`, 'to_timestamp($2::float8 / 1000)', ROOM.day)}
  union all
  select project_id, 'd', to_timestamp($2::float8 / 1000), $3::text, 'm', 0, ${zeros}, null, null
  from hours group by project_id) made`

/** Computes the sums of one hour, or of one day. Returns false if no sums are missing. `few` is for tests. */
export async function makeUsageSums(sql: Sql, projectId: number, now = Date.now(), few = FEW_TRACES): Promise<boolean> {
  if (!(await hasMany(sql, projectId, few))) return false
  const fields = await readUsageFields(sql, projectId)
  const until = (now - PAUSE_MS) / 1000
  return inTransaction(sql, async () => {
    await lockRollups(sql, projectId)
    const [hour] = await sql.unsafe<{ start: number }[]>(FIND_HOUR, [projectId, until, fields, fields.length], {
      prepare: true
    })
    if (hour !== undefined) {
      await forgetUsage(sql, projectId, [new Date(hour.start).toISOString()])
      for (const field of fields) {
        const split = readSplit(field)
        const tagKey = split?.field === 'tag' ? split.tagKey : ''
        await sql.unsafe(makeHourStatement(field), [projectId, hour.start, field, tagKey], { prepare: true })
      }
      return true
    }
    for (const field of fields) {
      const [day] = await sql.unsafe<{ start: number }[]>(FIND_DAY, [projectId, until, field], { prepare: true })
      if (day === undefined) continue
      await sql.unsafe(MAKE_DAY, [projectId, day.start, field], { prepare: true })
      return true
    }
    return false
  })
}
