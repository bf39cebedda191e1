/**
 * Reads names that exist in a project, for hints on empty results. All are taken from the newest traces and scores, so
 * that the work does not depend on the size of the project.
 */
import type { Sql } from 'postgres'
import type { TableNames } from '../../database/tables.ts'
import { readScoreNames } from '../lists/facets.ts'

/** Number of newest traces whose fields are read. */
const LOOKED_AT = 1000
/** Numbers of newest traces whose steps are read, and of steps of each of them. */
const STEPS_OF = { traces: 300, spans: 50 }
/** Maximum number of names. */
const MOST = 500

const COLUMNS = {
  name: 'name',
  model: 'model',
  environment: 'environment',
  userId: 'user_id',
  sessionId: 'session_id'
} as const

/** A kind of names: a field of traces, a tag or its key, a field of steps, or scores. */
export type NameKind = keyof typeof COLUMNS | 'tag' | 'tagKey' | 'step' | 'stepModel' | 'score'

/** Returns existing names of a kind, most frequent first. */
export async function readKnownNames(
  sql: Sql,
  projectId: number,
  kind: NameKind,
  names: TableNames
): Promise<readonly string[]> {
  if (kind === 'score') return [...new Set((await readScoreNames(sql, projectId, names)).map(({ name }) => name))]
  const rows = await sql.unsafe<{ value: string }[]>(
    `with newest as materialized (
      select seq, name, model, environment, user_id, session_id, tags from ${names.traces} where project_id = $1
      order by started_at desc, id desc limit ${kind in STEP_COLUMNS ? STEPS_OF.traces : LOOKED_AT}
    )
    select value from (${valuesOf(kind, names)}) named where value is not null
    group by value order by count(*) desc, value limit ${MOST}`,
    [projectId],
    { prepare: true }
  )
  return rows.map(({ value }) => value)
}

const STEP_COLUMNS = { step: 'name', stepModel: 'model' } as const

function valuesOf(kind: Exclude<NameKind, 'score'>, names: TableNames): string {
  if (kind === 'tag') return 'select tag as value from newest, unnest(tags) as tag'
  if (kind === 'tagKey') {
    return `select split_part(tag, ':', 1) as value from newest, unnest(tags) as tag where strpos(tag, ':') > 1`
  }
  if (kind !== 'step' && kind !== 'stepModel') return `select ${COLUMNS[kind]} as value from newest`
  return `select s.value from newest cross join lateral (
    select ${STEP_COLUMNS[kind]} as value from ${names.spans}
    where project_id = $1 and trace_seq = newest.seq limit ${STEPS_OF.spans}
  ) s`
}

/** Returns the start of the newest trace; undefined if the project has none. */
export async function readNewestStart(sql: Sql, projectId: number, names: TableNames): Promise<string | undefined> {
  const [row] = await sql.unsafe<{ at: string }[]>(
    `select started_at as at from ${names.traces} where project_id = $1 order by started_at desc, id desc limit 1`,
    [projectId],
    { prepare: true }
  )
  return row?.at
}

export async function traceExists(sql: Sql, projectId: number, id: string, names: TableNames): Promise<boolean> {
  const rows = await sql.unsafe(`select from ${names.traces} where project_id = $1 and id = $2`, [projectId, id], {
    prepare: true
  })
  return rows.length > 0
}
