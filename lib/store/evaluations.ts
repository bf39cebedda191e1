/**
 * Finds traces that an evaluator has not judged yet, and stores its verdicts as scores with the source `eval`. A
 * verdict applies to a trace's content at the time of judging. A trace to which OpenTelemetry has since added spans is
 * judged again.
 */
import type { Sql } from 'postgres'
import { MAX_SCORES } from '../schema/input.ts'
import type { ExportPlace } from './answers/export-page.ts'
import { CHANGED, compareAndSet } from './trace/compare-and-set.ts'
import { type NewScore, newScoreId } from './trace/scores.ts'
import { fitting, started, type TraceConditions } from './trace/trace-conditions.ts'
import { freshVersion } from './write/trace-numbers.ts'

/** A trace to judge; also the position after which the search continues. */
export interface Unjudged extends ExportPlace {
  /** Hash of the content to judge, in hexadecimal. */
  readonly hash: string
}

/** Returns SQL for whether the evaluator has a verdict on the trace's current content. */
const judged = (sql: Sql, projectId: number, evaluatorId: string) => sql`exists (
  select from scores s
  where s.project_id = ${projectId} and s.trace_seq = t.seq and s.evaluator_id = ${evaluatorId}
    and (s.judged_hash is null or s.judged_hash = t.body_hash)
)`

/**
 * Finds the next ended traces after `behind`, newest first, that meet the conditions and are not judged yet. With
 * `ids`, finds only traces with these ids, of which there must be few.
 */
export async function findUnjudged(
  sql: Sql,
  projectId: number,
  evaluatorId: string,
  { ids, ...conditions }: TraceConditions & { readonly ids?: readonly string[] | undefined },
  behind: Unjudged | undefined,
  limit: number
): Promise<Unjudged[]> {
  const place = behind === undefined ? sql`true` : sql`(started_at, id) < (${behind.startedAt}, ${behind.id})`
  const bounds = sql`${place} and ${started(sql, conditions)}`
  // `is true` makes PostgreSQL look up the ids instead of reading all traces in order.
  const which = ids === undefined ? bounds : sql`id = any (${ids as string[]}::uuid[]) and (${bounds}) is true`
  return sql<Unjudged[]>`
    select replace(id::text, '-', '') as id, started_at as "startedAt", encode(body_hash, 'hex') as hash
    from traces t
    where project_id = ${projectId} and ${which} and (${fitting(sql, conditions)}) is true
      and ended_at is not null and not ${judged(sql, projectId, evaluatorId)}
    order by started_at desc, id desc limit ${limit}`
}

export interface EvalScore extends Omit<NewScore, 'authorId'> {
  readonly evaluatorId: string
  readonly runId: string
}

/**
 * Outcome of adding a verdict. `judged`: another run added a verdict first. `changed`: the trace was changed or deleted
 * after it was read. `full`: the trace has the maximum number of scores.
 */
export type Stored = 'added' | 'judged' | 'changed' | 'full'

/** Adds a verdict on a trace's content unless the evaluator's verdict on this content is already stored. */
export async function addVerdict(
  sql: Sql,
  projectId: number,
  { id, hash }: Pick<Unjudged, 'id' | 'hash'>,
  score: EvalScore
): Promise<Stored> {
  return compareAndSet<Stored>({ sent: false }, async send => {
    const [row] = await send(
      () => sql<{ scoreCount: number; isSame: boolean; isJudged: boolean; isAdded: boolean }[]>`
        with found as materialized (
          select t.seq, t.version, t.score_count, t.body_hash = decode(${hash}, 'hex') as same,
            ${judged(sql, projectId, score.evaluatorId)} as judged
          from traces t where t.project_id = ${projectId} and t.id = ${id}
        ), counted as (
          update traces t set score_count = t.score_count + 1, version = ${freshVersion()}
          from found
          where t.project_id = ${projectId} and t.seq = found.seq and t.version = found.version
            and found.same and not found.judged and t.score_count < ${MAX_SCORES}
          returning t.seq, t.body_hash
        ), added as (
          insert into scores (project_id, trace_seq, created_at, id, span_id, name, data_type, value, comment, source,
            evaluator_id, run_id, judged_hash)
          select ${projectId}, seq, clock_timestamp(), ${newScoreId()}, ${score.spanId}, ${score.name},
            ${score.dataType}, ${JSON.stringify(score.value)}::json, ${score.comment}, 'eval', ${score.evaluatorId},
            ${score.runId}, body_hash
          from counted returning seq
        ), noted as (
      insert into change_news (project_id, seqs) select ${projectId}, array[seq] from counted
    )
        select score_count as "scoreCount", same as "isSame", judged as "isJudged",
          exists (select from added) as "isAdded" from found`
    )
    if (row === undefined || !row.isSame) return 'changed'
    if (row.isAdded) return 'added'
    if (row.isJudged) return 'judged'
    return row.scoreCount >= MAX_SCORES ? 'full' : CHANGED
  })
}

/** A run, summarized from its verdicts. */
export interface EvaluationRun {
  readonly runId: string
  readonly evaluatorId: string
  readonly name: string
  readonly dataType: string
  readonly traces: number
  /** The mean of numbers, or the share of booleans that are true; null for categories. */
  readonly mean: number | null
  /** The most frequent category; null for numbers and booleans. */
  readonly mostFrequent: string | null
  readonly firstAt: string
  readonly lastAt: string
}

/** Returns a project's runs, newest first. */
export async function listRuns(sql: Sql, projectId: number, limit: number): Promise<EvaluationRun[]> {
  return sql<EvaluationRun[]>`
    select run_id as "runId", evaluator_id as "evaluatorId", name, data_type as "dataType",
      count(distinct trace_seq)::int as traces,
      avg(case when data_type = 'numeric' then (value #>> '{}')::float8
        when data_type = 'boolean' then ((value #>> '{}')::boolean)::int end)::float8 as mean,
      mode() within group (order by case when data_type = 'categorical' then value #>> '{}' end) as "mostFrequent",
      min(created_at) as "firstAt", max(created_at) as "lastAt"
    from scores where project_id = ${projectId} and source = 'eval' and run_id is not null
    group by run_id, evaluator_id, name, data_type
    order by max(created_at) desc, run_id limit ${limit}`
}
