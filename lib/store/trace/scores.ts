/**
 * Reads, adds and deletes a trace's scores. A statement that adds or deletes a score updates the trace's row first, and
 * continues only if the trace still has the version that was read. The row's lock serializes the trace's writers. All
 * writers lock this row first, so they cannot deadlock.
 */
import { randomBytes } from 'node:crypto'
import type { Sql } from 'postgres'
import type { Attempts } from '../../database/sql-access.ts'
import { SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'
import { Refusal } from '../../errors.ts'
import { MAX_SCORES } from '../../schema/input.ts'
import { list } from '../answers/json-text.ts'
import { renderScore, type ScoreRow } from '../answers/score-json.ts'
import type { AuditEntry } from '../audit.ts'
import { freshVersion } from '../write/trace-numbers.ts'
import { CHANGED, compareAndSet } from './compare-and-set.ts'
import { removeAudited } from './deletion.ts'

/** A received score after validation, with ids in lower case. */
export interface NewScore extends Pick<ScoreRow, 'name' | 'dataType' | 'comment' | 'spanId'> {
  readonly value: number | string | boolean
  /** The user who gives the score in the dashboard; undefined for a score from the API. */
  readonly authorId?: number
}

/** SQL for the columns of a ScoreRow, with scores as s. */
export const SCORE_FIELDS = `
  s.id, s.span_id as "spanId", s.name, s.data_type as "dataType", s.value, s.comment, s.source,
  s.evaluator_id as "evaluatorId", s.run_id as "runId", s.created_at as "createdAt"`

/** Returns a trace's scores, newest first, as a JSON array string; undefined if the trace does not exist. */
export async function readTraceScores(sql: Sql, projectId: number, traceId: string, names: TableNames = SCHEMA_NAMES) {
  const rows = await sql<(ScoreRow | { readonly id: null })[]>`
    select ${sql.unsafe(SCORE_FIELDS)}
    from ${sql.unsafe(names.traces)} t
    left join ${sql.unsafe(names.scores)} s on s.project_id = ${projectId} and s.trace_seq = t.seq
    where t.project_id = ${projectId} and t.id = ${traceId}
    order by s.created_at desc, s.seq desc`
  if (rows.length === 0) return undefined
  return list(rows.filter(row => row.id !== null).map(row => renderScore(row, traceId)))
}

/** Returns a score id that all attempts use, so that a later attempt recognizes a score added by an earlier attempt. */
export const newScoreId = (): string => randomBytes(8).toString('hex')

/**
 * Adds a score and returns it as a JSON string; undefined if the trace does not exist. Throws the Refusal `conflict` if
 * the trace has the maximum number of scores.
 */
export async function addScore(
  sql: Sql,
  projectId: number,
  traceId: string,
  score: NewScore & { readonly id?: string },
  attempts: Attempts = { sent: false }
): Promise<string | undefined> {
  const { id = newScoreId() } = score
  return compareAndSet(attempts, async send => {
    if (attempts.sent) {
      const added = await readScore(sql, projectId, traceId, id)
      if (added !== undefined) return renderScore(added, traceId)
    }
    const row = await send(() => insertScore(sql, projectId, traceId, { ...score, id }))
    if (row === undefined) return undefined
    if (row.id !== null) return renderScore(row, traceId)
    if (row.scoreCount < MAX_SCORES) return CHANGED
    throw new Refusal('conflict', `the trace already has ${MAX_SCORES} scores`)
  })
}

/** Inserts a score. Returns a row without an id if the trace is full or has changed; undefined if it does not exist. */
async function insertScore(sql: Sql, projectId: number, traceId: string, score: NewScore & { readonly id: string }) {
  const { authorId = null } = score
  const source = authorId === null ? 'api' : 'annotation'
  const [row] = await sql<((ScoreRow | { readonly id: null }) & { readonly scoreCount: number })[]>`
    with found as materialized (
      select seq, version, score_count from traces where project_id = ${projectId} and id = ${traceId}
    ), counted as (
      update traces t set score_count = t.score_count + 1, version = ${freshVersion()}
      from found
      where t.project_id = ${projectId} and t.seq = found.seq and t.version = found.version
        and t.score_count < ${MAX_SCORES}
      returning t.seq
    ), added as (
      -- now() is too early: the statement may have waited for the trace, and the newest score must be the last one.
      insert into scores (project_id, trace_seq, created_at, id, span_id, name, data_type, value, comment, source, author_id)
      select ${projectId}, seq, clock_timestamp(), ${score.id}, ${score.spanId},
        ${score.name}, ${score.dataType}, ${JSON.stringify(score.value)}::json, ${score.comment}, ${source},
        ${authorId}::int
      from counted
      returning *
    ), noted as (
      insert into change_news (project_id, seqs) select ${projectId}, array[seq] from counted
    )
    select found.score_count as "scoreCount", ${sql.unsafe(SCORE_FIELDS)} from found left join added s on true`
  return row
}

async function readScore(sql: Sql, projectId: number, traceId: string, id: string): Promise<ScoreRow | undefined> {
  const [row] = await sql<ScoreRow[]>`
    select ${sql.unsafe(SCORE_FIELDS)}
    from traces t join scores s on s.project_id = ${projectId} and s.trace_seq = t.seq
    where t.project_id = ${projectId} and t.id = ${traceId} and s.id = ${id}`
  return row
}

/** Returns the id of a score's author; null if the score has no author; undefined if the score does not exist. */
export async function readAuthor(
  sql: Sql,
  projectId: number,
  traceId: string,
  scoreId: string,
  names: TableNames = SCHEMA_NAMES
): Promise<number | null | undefined> {
  const [row] = await sql<{ authorId: number | null }[]>`
    select s.author_id as "authorId"
    from ${sql.unsafe(names.traces)} t join ${sql.unsafe(names.scores)} s on s.project_id = ${projectId} and s.trace_seq = t.seq
    where t.project_id = ${projectId} and t.id = ${traceId} and s.id = ${scoreId}`
  return row?.authorId
}

/** Deletes a score and writes the audit entry. Returns false if the trace has no such score. */
export async function deleteScore(
  sql: Sql,
  projectId: number,
  traceId: string,
  scoreId: string,
  attempts: Attempts = { sent: false },
  audit?: AuditEntry
): Promise<boolean> {
  return compareAndSet(attempts, async send => {
    if ((await readScore(sql, projectId, traceId, scoreId)) === undefined) return attempts.sent
    return (await send(() => removeAudited(sql, audit, () => removeScore(sql, projectId, traceId, scoreId)))) || CHANGED
  })
}

/** Deletes the score. Returns false if the score is gone or the trace has changed since the statement began. */
async function removeScore(sql: Sql, projectId: number, traceId: string, scoreId: string): Promise<boolean> {
  const [row] = await sql<{ readonly deleted: boolean }[]>`
    with found as materialized (
      select t.seq, t.version, s.seq as score_seq
      from traces t
      join scores s on s.project_id = ${projectId} and s.trace_seq = t.seq
      where t.project_id = ${projectId} and t.id = ${traceId} and s.id = ${scoreId}
    ), counted as (
      update traces t set score_count = t.score_count - 1, version = ${freshVersion()}
      from found
      where t.project_id = ${projectId} and t.seq = found.seq and t.version = found.version
      returning t.seq, found.score_seq
    ), gone as (
      delete from scores s using counted
      where s.project_id = ${projectId} and s.trace_seq = counted.seq and s.seq = counted.score_seq
      returning s.seq
    ), noted as (
      insert into change_news (project_id, seqs) select ${projectId}, array[seq] from counted
    )
    select exists (select from gone) as deleted`
  return row?.deleted === true
}
