/**
 * The one statement in which a batch of operations is written: new and restored traces, changed traces, the spans and
 * scores of just those that took, and the project totals. A statement is atomic by itself. An insert does not take where
 * the id exists; a change does not take where the version has moved.
 */
import type { Sql } from 'postgres'
import {
  CHANGE_COLUMNS,
  type Column,
  RESTORED_COLUMNS,
  rowSource,
  SCORE_COLUMNS,
  SPAN_COLUMNS,
  TRACE_COLUMNS,
  typed
} from './columns.ts'

/** Values of a list of columns: one parameter each, from lib/store/columns.ts; undefined: no rows. */
export type Rows = readonly string[] | undefined

export interface Batch {
  readonly traces: Rows
  readonly restored: Rows
  readonly changes: Rows
  readonly spans: Rows
  readonly scores: Rows
  /** The slot of project_totals that this writer counts in. */
  readonly slot: number
}

/** Charges a trial account for the one new trace of a batch: nothing is inserted where the allowance is used up. */
export interface TrialCharge {
  readonly accountId: number
  readonly limit: number
}

const names = (columns: readonly Column[]) => columns.map(column => column.name).join(', ')
const values = (columns: readonly Column[], alias: string) => columns.map(column => typed(column, alias)).join(', ')

const column = (name: string): string => {
  const found = CHANGE_COLUMNS.find(each => each.name === name)
  if (found === undefined) throw new Error(`no change column ${name}`)
  return typed(found, 'c')
}
const SET_AS_SENT = [
  ...['version', 'span_count', 'error_count', 'status', 'ended_at', 'duration_ms', 'input_tokens', 'output_tokens'],
  ...['total_tokens', 'cost_usd', 'document_bytes', 'estimated_bytes', 'end_hash', 'provider', 'model', 'tags']
]

/** What the later steps need of a trace that took. */
export const TAKEN = `t.project_id, t.seq, t.id, t.kind, t.status, t.environment, t.model, t.name, t.started_at, t.duration_ms,
    t.cost_usd, t.tags`

function insertTraces(columns: readonly Column[], first: number, charged: boolean): string {
  return `insert into traces as t (${names(columns)})
    select ${values(columns, 'r')} from ${rowSource(columns, first, 'r')}
    ${charged ? 'where exists (select from charged)' : 'on conflict (project_id, id) do nothing'}
    returning ${TAKEN}, 1 as traces, t.span_count as spans, t.estimated_bytes as bytes`
}

function updateTraces(first: number): string {
  const sets = SET_AS_SENT.map(name => `${name} = ${column(name)}`)
  for (const name of ['output', 'metadata']) {
    sets.push(`${name} = case when ${column(`sets_${name}`)} then ${column(name)} else t.${name} end`)
  }
  return `update traces as t set ${sets.join(', ')}
    from ${rowSource(CHANGE_COLUMNS, first, 'c')}
    where t.project_id = ${column('project_id')} and t.seq = ${column('seq')} and t.version = ${column('old_version')}
    returning ${TAKEN}, 0 as traces, ${column('added_spans')} as spans, ${column('added_bytes')} as bytes`
}

/** The rows of the traces that took, in the order in which they were given. */
function insertUnderTaken(table: 'spans' | 'scores', columns: readonly Column[], first: number): string {
  return `insert into ${table} (${names(columns)})
    select ${values(columns, 's')} from ${rowSource(columns, first, 's')}
    where s.trace_seq::bigint = any (array(select seq from taken))`
}

const ADD_TOTALS = `insert into project_totals as p (project_id, slot, traces, spans, bytes)
    select project_id, $1::smallint, sum(traces), sum(spans), sum(bytes) from taken group by project_id order by project_id
    on conflict (project_id, slot) do update
    set traces = p.traces + excluded.traces, spans = p.spans + excluded.spans, bytes = p.bytes + excluded.bytes`

/** In order, so that two batches with the same new kinds wait for each other, and not in a circle. */
export const ADD_KINDS = `insert into trace_kinds (project_id, kind, status, environment, model, name)
    select distinct on (project_id, kind) project_id, kind, status, environment, model, name from taken
    order by project_id, kind
    on conflict (project_id, kind) do nothing`

/**
 * Traces whose tags, or what is repeated beside them, are not what they were. The snapshot of the statement shows the
 * trace as it was, which is the version that the change was made for.
 */
const RETAGGED = `select u.*, t.tags as old_tags from updated u
    join traces t on t.project_id = u.project_id and t.seq = u.seq
    where (u.kind, u.duration_ms, u.cost_usd, u.tags) is distinct from (t.kind, t.duration_ms, t.cost_usd, t.tags)`

const REMOVE_TAGS = `delete from trace_tags g using retagged r, unnest(r.old_tags) as old (tag)
    where g.project_id = r.project_id and g.tag = old.tag and g.started_at = r.started_at and g.id = r.id`

/** The step that adds the tags of traces that took. */
export function addTags(sources: readonly string[]): string {
  const selects = sources.map(
    source => `select project_id, kind, started_at, duration_ms, cost_usd, id, unnest(tags) from ${source}`
  )
  return `insert into trace_tags (project_id, kind, started_at, duration_ms, cost_usd, id, tag) ${selects.join(' union all ')}`
}

/** Which parts a batch has. */
interface Shape {
  readonly charge: boolean
  readonly traces: boolean
  readonly restored: boolean
  readonly changes: boolean
  readonly spans: boolean
  readonly scores: boolean
}

/** The statement for batches that have these parts; few texts, so that few are prepared. */
function statement(has: Shape): string {
  let next = has.charge ? 4 : 2
  const take = (columns: readonly Column[]) => {
    next += columns.length
    return next - columns.length
  }
  const steps: string[] = []
  if (has.charge) {
    steps.push(`charged as (update accounts set trial_used = trial_used + 1
    where id = $2::int and trial_used < $3::bigint returning id)`)
  }
  if (has.traces) steps.push(`inserted as (${insertTraces(TRACE_COLUMNS, take(TRACE_COLUMNS), has.charge)})`)
  if (has.restored) steps.push(`restored as (${insertTraces(RESTORED_COLUMNS, take(RESTORED_COLUMNS), false)})`)
  if (has.changes) steps.push(`updated as (${updateTraces(take(CHANGE_COLUMNS))})`)
  const news = [...(has.traces ? ['inserted'] : []), ...(has.restored ? ['restored'] : [])]
  const sources = [...news, ...(has.changes ? ['updated'] : [])]
  steps.push(`taken as (${sources.map(source => `select * from ${source}`).join(' union all ')})`)
  steps.push(`new_kinds as (${ADD_KINDS})`)
  if (has.changes) steps.push(`retagged as (${RETAGGED})`, `old_tags as (${REMOVE_TAGS})`)
  steps.push(`new_tags as (${addTags([...news, ...(has.changes ? ['retagged'] : [])])})`)
  if (has.spans) steps.push(`new_spans as (${insertUnderTaken('spans', SPAN_COLUMNS, take(SPAN_COLUMNS))})`)
  if (has.scores) steps.push(`new_scores as (${insertUnderTaken('scores', SCORE_COLUMNS, take(SCORE_COLUMNS))})`)
  steps.push(`totals as (${ADD_TOTALS})`)
  return `with ${steps.join(',\n  ')}\n  select seq from taken`
}

const statements = new Map<string, string>()

/**
 * Writes a batch and gives the inner numbers of the traces that took. Driver errors pass through; unique_violation on
 * traces_id can only come from a charged insert whose trace exists: nothing was written or charged then.
 */
export async function writeBatch(sql: Sql, batch: Batch, charge?: TrialCharge): Promise<Set<number>> {
  const { traces, restored, changes, spans, scores } = batch
  const has: Shape = {
    charge: charge !== undefined,
    traces: traces !== undefined,
    restored: restored !== undefined,
    changes: changes !== undefined,
    spans: spans !== undefined,
    scores: scores !== undefined
  }
  const shape = JSON.stringify(has)
  let text = statements.get(shape)
  if (text === undefined) {
    text = statement(has)
    statements.set(shape, text)
  }
  const charged = charge === undefined ? [] : [charge.accountId, charge.limit]
  const parts = [traces, restored, changes, spans, scores].flatMap(part => part ?? [])
  const rows = await sql.unsafe<{ seq: number }[]>(text, [batch.slot, ...charged, ...parts], { prepare: true })
  return new Set(rows.map(row => row.seq))
}
