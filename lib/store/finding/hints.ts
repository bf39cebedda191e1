/**
 * Explains why a search found nothing: which of its values no trace has, and which similar values exist. The latter
 * are taken from the newest traces and scores, so the work does not depend on the size of the project.
 */
import type { Sql } from 'postgres'
import type { TableNames } from '../../database/tables.ts'
import { readScoreNames } from '../lists/facets.ts'
import { listTraces } from '../lists/trace-list.ts'
import type { TraceFilters } from '../lists/trace-query.ts'
import type { TraceSearch } from './find-traces.ts'
import { nearestNames } from './nearest.ts'
import { cutText } from './preview.ts'

/** Numbers of newest traces whose fields, and whose steps, are read. */
const LOOKED_AT = 1000
const STEPS_OF = 200
/** Maximum number of names to compare with. */
const MOST = 500

type Field = 'name' | 'model' | 'environment' | 'tag' | 'userId' | 'sessionId' | 'step' | 'score'

/** Returns sentences for the reader of an empty page. */
export async function explainEmpty(
  sql: Sql,
  projectId: number,
  { query, conditions }: TraceSearch,
  names: TableNames
): Promise<string> {
  const exists = async (filters: TraceFilters): Promise<boolean> =>
    (await listTraces(sql, projectId, { ...filters, sort: 'newest', limit: 1 }, names)).traces !== '[]'
  if (!(await exists({}))) return 'The project has no traces.'
  const said: string[] = []
  const { from, to } = query
  if ((from !== undefined || to !== undefined) && !(await exists({ from, to }))) {
    said.push(`No trace started in this time; the newest started at ${await readNewest(sql, projectId, names)}.`)
  }
  const { name, model, environment, userId, sessionId } = query
  const tags = [query.tag, ...conditions.tags].filter(tag => tag !== undefined)
  const asked: [Field, string | undefined, TraceFilters][] = [
    ['name', name, { name }],
    ['model', model, { model }],
    ['environment', environment, { environment }],
    ...tags.map((tag): [Field, string, TraceFilters] => ['tag', tag, { tag }]),
    ['userId', userId, { userId }],
    ['sessionId', sessionId, { sessionId }]
  ]
  for (const [field, value, filters] of asked) {
    if (value === undefined || (await exists(filters))) continue
    said.push(sentence(field, value, await readValues(sql, projectId, field, names)))
  }
  if (conditions.scores.length > 0) {
    const known = (await readScoreNames(sql, projectId, names)).map(score => score.name)
    for (const { name } of conditions.scores) {
      if (!known.includes(name)) said.push(sentence('score', name, [...new Set(known)]))
    }
  }
  const step = conditions.step?.name
  if (step !== undefined) {
    const known = await readStepNames(sql, projectId, names)
    if (!known.includes(step)) said.push(sentence('step', step, known))
  }
  if (said.length > 0) return said.join(' ')
  const isNamed = step !== undefined || conditions.scores.length > 0 || asked.some(([, value]) => value !== undefined)
  const none = 'No trace that was examined meets all conditions.'
  return isNamed ? `${none} Each of the values exists.` : none
}

function sentence(field: Field, value: string, known: readonly string[]): string {
  const { names, areLike } = nearestNames(value, known)
  const isRecent = field === 'step' || field === 'score'
  const missing = isRecent
    ? `No recent ${field} is named ${quoted(value)}.`
    : `No trace has the ${field} ${quoted(value)}.`
  if (names.length === 0) return `${missing} Recent traces have none.`
  return `${missing} ${areLike ? 'The nearest' : 'The most frequent'}: ${names.map(quoted).join(', ')}.`
}

/** Maximum number of characters of a name that a sentence shows. */
const MOST_SHOWN = 120
const quoted = (name: string): string => JSON.stringify(cutText(name, MOST_SHOWN))

const COLUMNS = {
  name: 'name',
  model: 'model',
  environment: 'environment',
  userId: 'user_id',
  sessionId: 'session_id'
} as const

/** Returns the values of the project's newest traces, most frequent first. */
async function readValues(sql: Sql, projectId: number, field: Field, names: TableNames): Promise<string[]> {
  const column = field === 'tag' ? 'tags' : COLUMNS[field as keyof typeof COLUMNS]
  const value = field === 'tag' ? 'own.tag' : column
  const rows = await sql.unsafe<{ value: string }[]>(
    `select ${value} as value from (
      select ${column} from ${names.traces} where project_id = $1 order by started_at desc, id desc limit ${LOOKED_AT}
    ) newest ${field === 'tag' ? 'cross join lateral unnest(tags) as own (tag)' : ''}
    where ${value} is not null group by ${value} order by count(*) desc, ${value} limit ${MOST}`,
    [projectId],
    { prepare: true }
  )
  return rows.map(row => row.value)
}

/** Returns the names of the newest traces' steps, most frequent first. */
async function readStepNames(sql: Sql, projectId: number, names: TableNames): Promise<string[]> {
  const rows = await sql.unsafe<{ name: string }[]>(
    `select s.name from (
      select seq from ${names.traces} where project_id = $1 order by started_at desc, id desc limit ${STEPS_OF}
    ) newest cross join lateral (
      select name from ${names.spans} where project_id = $1 and trace_seq = newest.seq
      order by trace_seq, id limit ${MOST}
    ) s group by s.name order by count(*) desc, s.name limit ${MOST}`,
    [projectId],
    { prepare: true }
  )
  return rows.map(({ name }) => name)
}

async function readNewest(sql: Sql, projectId: number, names: TableNames): Promise<string> {
  const [row] = await sql.unsafe<{ startedAt: string }[]>(
    `select started_at as "startedAt" from ${names.traces} where project_id = $1
    order by started_at desc, id desc limit 1`,
    [projectId],
    { prepare: true }
  )
  return row?.startedAt ?? ''
}
