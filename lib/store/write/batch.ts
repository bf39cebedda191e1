/**
 * The one statement in which a batch of operations is written: new and restored traces, changed traces, the spans and
 * scores of just those that took, and the project totals. A statement is atomic by itself. An insert does not take where
 * the id exists; a change does not take where the version has moved.
 */
import type { Sql } from 'postgres'
import {
  APPEND_COLUMNS,
  type Column,
  END_COLUMNS,
  GROWTH_COLUMNS,
  RESTORED_COLUMNS,
  rowSource,
  SCORE_COLUMNS,
  SPAN_COLUMNS,
  TRACE_COLUMNS,
  typed
} from '../../rows/columns.ts'
import { hashInSql, listsInSql, tagListsInSql } from '../../rows/list-numbers.ts'
import { rankedInSql } from '../rankings/rankings.ts'
import { ADD_UP } from './totals.ts'

/** Values of a list of columns: one parameter each, from lib/rows/columns.ts; undefined: no rows. */
export type Rows = readonly string[] | undefined

export interface Batch {
  readonly traces: Rows
  readonly restored: Rows
  readonly appends: Rows
  readonly ends: Rows
  readonly growths: Rows
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

/** The numbers of lists and what is ranked, made from rows of these columns; what the columns do not have is as it was. */
function listsFrom(columns: readonly Column[], alias: string) {
  const from = (name: string) => {
    const column = columns.find(column => column.name === name)
    return column === undefined ? `t.${name}` : typed(column, alias)
  }
  const [status, environment, model] = [from('status'), from('environment'), from('model')]
  const lists = listsInSql({ status, environment, model, name: from('name'), userId: from('user_id') })
  const keys = { duration: from('duration_ms'), cost: from('cost_usd') }
  return { ...lists, ranked: rankedInSql(from('project_id'), lists, keys) }
}

/** Columns of a change that are none of the trace. */
const GUARDS = ['project_id', 'seq', 'old_version', 'added_spans', 'added_bytes']

/** What the later steps need of a trace that took. */
export const TAKEN = `t.project_id, t.seq, t.id, t.named_family, t.family, t.user_family, t.status, t.environment, t.model, t.started_at,
    t.duration_ms, t.cost_usd, t.user_id, t.tags`

function insertTraces(columns: readonly Column[], first: number, charged: boolean): string {
  const lists = listsFrom(columns, 'r')
  return `insert into traces as t (${names(columns)}, ${Object.keys(lists).join(', ')})
    select ${values(columns, 'r')}, ${Object.values(lists).join(', ')} from ${rowSource(columns, first, 'r')}
    ${charged ? 'where exists (select from charged)' : 'on conflict (project_id, id) do nothing'}
    returning ${TAKEN}, 1 as traces, t.span_count as spans, t.estimated_bytes as bytes`
}

/** A column `sets_x` says whether x is set at all. An append moves a trace to no other list, and sets no status. */
function updateTraces(columns: readonly Column[], first: number): string {
  const all = new Map(columns.map(column => [column.name, typed(column, 'c')]))
  const column = (name: string) => all.get(name) ?? name
  const sets = [...all.keys()]
    .filter(name => !GUARDS.includes(name) && !name.startsWith('sets_'))
    .map(name => {
      const isSet = all.get(`sets_${name}`)
      return `${name} = ${isSet === undefined ? column(name) : `case when ${isSet} then ${column(name)} else t.${name} end`}`
    })
  if (all.has('status'))
    sets.push(...Object.entries(listsFrom(columns, 'c')).map(([name, number]) => `${name} = ${number}`))
  return `update traces as t set ${sets.join(', ')}
    from ${rowSource(columns, first, 'c')}
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
    ${ADD_UP}`

/** In order, so that two batches with the same new families wait for each other, and not in a circle. */
export const ADD_FAMILIES = `insert into trace_families (project_id, family, status, environment, model)
    select distinct on (project_id, family) project_id, family, status, environment, model from taken
    order by project_id, family
    on conflict (project_id, family) do nothing`

/**
 * Traces whose tags, or what is repeated beside them, are not what they were. The snapshot of the statement shows the
 * trace as it was, which is the version that the change was made for.
 */
const RETAGGED = `select u.*, t.tags as old_tags, t.family as old_family, t.started_at as old_start from updated u
    join traces t on t.project_id = u.project_id and t.seq = u.seq
    where (u.named_family, u.started_at, u.duration_ms, u.cost_usd, u.user_id, u.tags)
      is distinct from (t.named_family, t.started_at, t.duration_ms, t.cost_usd, t.user_id, t.tags)`

const REMOVE_TAGS = `delete from trace_tags g using retagged r, unnest(r.old_tags) as old (tag)
    where g.project_id = r.project_id and g.tag_family = ${hashInSql('old.tag', 'r.old_family')}
      and g.started_at = r.old_start and g.id = r.id`

/** The step that adds the tags of traces that took. */
function addTags(sources: readonly string[]): string {
  const lists = tagListsInSql('own.tag', { family: 'family', namedFamily: 'named_family', userFamily: 'user_family' })
  const columns = 'project_id, named_family, family, started_at, duration_ms, cost_usd, id, user_id'
  const ranked = rankedInSql(
    'own.project_id',
    { family: 'own.tag_family', named_family: 'own.tag_named_family' },
    { duration: 'own.duration_ms', cost: 'own.cost_usd' }
  )
  const selects = sources.map(
    source =>
      `select ${columns}, own.tag, ${Object.entries(lists)
        .map(([name, number]) => `${number} as ${name}`)
        .join(', ')} from ${source}, unnest(tags) as own (tag)`
  )
  return `insert into trace_tags (${columns}, tag, ${Object.keys(lists).join(', ')}, ranked)
    select own.*, ${ranked} from (${selects.join(' union all ')}) own`
}

const allOf = (steps: readonly string[]) => steps.map(step => `select * from ${step}`).join(' union all ')

/** Which parts a batch has. */
interface Shape {
  readonly charge: boolean
  readonly traces: boolean
  readonly restored: boolean
  readonly appends: boolean
  readonly ends: boolean
  readonly growths: boolean
  readonly spans: boolean
  readonly scores: boolean
}

/** The steps for these parts, of which `taken` gives what took; their parameters are numbered from `next`. */
function stepsOf(has: Omit<Shape, 'charge'>, next: number, charged: boolean): string[] {
  const take = (columns: readonly Column[]) => {
    next += columns.length
    return next - columns.length
  }
  const steps: string[] = []
  if (has.traces) steps.push(`inserted as (${insertTraces(TRACE_COLUMNS, take(TRACE_COLUMNS), charged)})`)
  if (has.restored) steps.push(`restored as (${insertTraces(RESTORED_COLUMNS, take(RESTORED_COLUMNS), false)})`)
  if (has.appends) steps.push(`appended as (${updateTraces(APPEND_COLUMNS, take(APPEND_COLUMNS))})`)
  if (has.ends) steps.push(`ended as (${updateTraces(END_COLUMNS, take(END_COLUMNS))})`)
  if (has.growths) steps.push(`grown as (${updateTraces(GROWTH_COLUMNS, take(GROWTH_COLUMNS))})`)
  const news = [...(has.traces ? ['inserted'] : []), ...(has.restored ? ['restored'] : [])]
  const updates = [...(has.ends ? ['ended'] : []), ...(has.growths ? ['grown'] : [])]
  // What an append changes is in no list.
  const sources = [...news, ...updates, ...(has.appends ? ['appended'] : [])]
  steps.push(`taken as (${allOf(sources)})`)
  if (news.length + updates.length > 0) steps.push(`new_families as (${ADD_FAMILIES})`)
  if (updates.length > 0) {
    steps.push(`updated as (${allOf(updates)})`, `retagged as (${RETAGGED})`, `old_tags as (${REMOVE_TAGS})`)
  }
  const tagged = [...news, ...(updates.length > 0 ? ['retagged'] : [])]
  if (tagged.length > 0) steps.push(`new_tags as (${addTags(tagged)})`)
  if (has.spans) steps.push(`new_spans as (${insertUnderTaken('spans', SPAN_COLUMNS, take(SPAN_COLUMNS))})`)
  if (has.scores) steps.push(`new_scores as (${insertUnderTaken('scores', SCORE_COLUMNS, take(SCORE_COLUMNS))})`)
  return steps
}

/** The statement for batches that have these parts; few texts, so that few are prepared. */
function statement({ charge, ...has }: Shape): string {
  const steps = stepsOf(has, charge ? 4 : 2, charge)
  if (charge) {
    steps.unshift(`charged as (update accounts set trial_used = trial_used + 1
    where id = $2::int and trial_used < $3::bigint returning id)`)
  }
  return `with ${[...steps, `totals as (${ADD_TOTALS})`].join(',\n  ')}\n  select seq from taken`
}

/** The appends and ends of a batch whose spans and totals are written beside: all `$1` of them, or it fails (22012). */
export function changeStatement(has: { readonly appends: boolean; readonly ends: boolean }): string {
  const steps = stepsOf(
    { ...has, traces: false, restored: false, growths: false, spans: false, scores: false },
    2,
    false
  )
  return `with ${steps.join(',\n  ')}\n  select 1 / (count(*) = $1::bigint)::int from taken`
}

const statements = new Map<string, string>()

/**
 * Writes a batch and gives the inner numbers of the traces that took. Driver errors pass through; unique_violation on
 * traces_id can only come from a charged insert whose trace exists: nothing was written or charged then.
 */
export async function writeBatch(sql: Sql, batch: Batch, charge?: TrialCharge): Promise<Set<number>> {
  const { traces, restored, appends, ends, growths, spans, scores } = batch
  const has: Shape = {
    charge: charge !== undefined,
    traces: traces !== undefined,
    restored: restored !== undefined,
    appends: appends !== undefined,
    ends: ends !== undefined,
    growths: growths !== undefined,
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
  const parts = [traces, restored, appends, ends, growths, spans, scores].flatMap(part => part ?? [])
  const rows = await sql.unsafe<{ seq: number }[]>(text, [batch.slot, ...charged, ...parts], { prepare: true })
  return new Set(rows.map(row => row.seq))
}
