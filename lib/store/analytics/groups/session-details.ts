/**
 * Reads the fields that a list of sessions shows besides sums: the first question, users, time and scores of each
 * session.
 */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES } from '../../../database/tables.ts'
import { MAX_SCORES } from '../../../schema/input.ts'
import { readFoundSummaries } from '../../finding/found-summaries.ts'
import type { OwnTraces } from './sessions.ts'

/** Maximum numbers of a session's newest traces that are read, and of users and names of scores listed. */
const MOST_OF_SESSION = 200
const MOST_USERS = 3
const MOST_NAMES = 3

export interface SessionScore {
  readonly name: string
  readonly dataType: string
  readonly count: number
  /** Mean of numbers, or share of true; null for categories. */
  readonly average: number | null
  /** The most frequent category; null for other data types. */
  readonly value: string | null
}

export interface SessionDetails {
  readonly question: string | null
  readonly users: readonly string[]
  readonly durationMs: number
  readonly scores: readonly SessionScore[]
}

interface Row extends Omit<SessionDetails, 'question' | 'scores'> {
  readonly id: string
  /** The session's first trace. */
  readonly seq: number
  readonly traceId: string
  readonly scores: readonly { name: string; dataType: string; values: readonly (number | string | boolean)[] }[]
}

/** Details by session id. If `own` is given, only these traces count, except for the question. */
export async function readSessionDetails(
  sql: Sql,
  projectId: number,
  ids: readonly string[],
  own?: OwnTraces
): Promise<ReadonlyMap<string, SessionDetails>> {
  if (ids.length === 0) return new Map()
  const rows = await sql.unsafe<Row[]>(
    `with own as materialized (
      select asked.id as session, t.* from unnest($2::text[]) as asked (id) cross join lateral (
        select * from (
          select seq, user_id, environment, started_at, duration_ms, score_count from traces
          where project_id = $1 and session_id = asked.id
          order by session_id desc, started_at desc, id desc limit ${MOST_OF_SESSION}
        ) newest where ($3::text is null or user_id = $3) and ($4::timestamptz is null or started_at >= $4)
          and ($5::text is null or environment = $5)
      ) t
    ), scored as (
      select session, name, data_type, json_agg(value) as values, count(*) as count
      from own cross join lateral (
        select name, data_type, value from scores
        where project_id = $1 and trace_seq = own.seq order by trace_seq, seq limit ${MAX_SCORES}
      ) s
      where own.score_count > 0 group by 1, 2, 3
    )
    select asked.id, f.seq, f.id as "traceId",
      array(select distinct user_id from own where session = asked.id and user_id is not null order by 1
        limit ${MOST_USERS}) as users,
      coalesce((select sum(duration_ms) from own where session = asked.id), 0)::float8 as "durationMs",
      coalesce((
        select json_agg(json_build_object('name', name, 'dataType', data_type, 'values', values)
          order by count desc, name, data_type)
        from scored where session = asked.id
      ), '[]') as scores
    from unnest($2::text[]) as asked (id) cross join lateral (
      select seq, id from traces where project_id = $1 and session_id = asked.id
      order by session_id, started_at, id limit 1
    ) f`,
    [projectId, ids as string[], own?.userId ?? null, own?.from ?? null, own?.environment ?? null],
    { prepare: true }
  )
  const first = rows.map(({ seq, traceId }) => ({ seq, id: traceId, excerpts: [] }))
  const found = JSON.parse(await readFoundSummaries(sql, projectId, first, SCHEMA_NAMES)) as {
    readonly id: string
    readonly inputPreview: string | null
  }[]
  const questions = new Map(found.map(({ id, inputPreview }) => [id, inputPreview]))
  return new Map(
    rows.map(({ id, seq: _, traceId, scores, ...row }) => [
      id,
      {
        ...row,
        question: questions.get(traceId) ?? null,
        scores: readScores(scores).slice(0, MOST_NAMES).map(summarise)
      }
    ])
  )
}

/** The driver leaves JSON unparsed. */
const readScores = (scores: Row['scores'] | string): Row['scores'] =>
  typeof scores === 'string' ? JSON.parse(scores) : scores

function summarise({ name, dataType, values }: Row['scores'][number]): SessionScore {
  const count = values.length
  if (dataType !== 'categorical') {
    const average = values.reduce<number>((sum, value) => sum + Number(value) / count, 0)
    return { name, dataType, count, average: Number.isFinite(average) ? average : null, value: null }
  }
  const counts = new Map<string, number>()
  for (const value of values) counts.set(String(value), (counts.get(String(value)) ?? 0) + 1)
  const [most] = [...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
  return { name, dataType, count, average: null, value: most?.[0] ?? null }
}
