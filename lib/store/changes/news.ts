/**
 * Notes that traces were written, in the transaction of the write. Every write that a reader of a trace can see is
 * noted: a new trace, spans, an end, a patch, a score, messages and corrections. Deletions and repacking are not.
 *
 * A note is a row with the internal numbers of the traces that a transaction wrote to in one project. A fold gives the
 * notes their places in the log (lib/store/changes/fold.ts).
 */
import type { Sql } from 'postgres'
import type { Tables } from '../write/homes.ts'

/** Prepares the statement with which a batch notes its traces. */
export const prepareNote = ({ names, suffix }: Tables): string => `
  prepare note_changes${suffix} (int, bigint[]) as insert into ${names.change_news} (project_id, seqs) values ($1, $2)`

interface Written {
  readonly projectId: number
  readonly seq: number
}

/** Returns the statements that note the traces of a batch. */
export function noteAll(written: readonly Written[], { suffix }: Pick<Tables, 'suffix'>): string[] {
  const projects = new Map<number, number[]>()
  for (const { projectId, seq } of written) {
    const seqs = projects.get(projectId)
    if (seqs === undefined) projects.set(projectId, [seq])
    else seqs.push(seq)
  }
  return [...projects].map(([projectId, seqs]) => `execute note_changes${suffix} (${projectId}, '{${seqs.join(',')}}')`)
}

/** Notes traces in the caller's transaction. */
export async function noteChanges(sql: Sql, projectId: number, seqs: readonly number[]): Promise<void> {
  if (seqs.length === 0) return
  await sql`insert into change_news (project_id, seqs) values (${projectId}, ${seqs as number[]}::bigint[])`
}

/**
 * Returns SQL for a step that notes the trace of the earlier step `rows`, which returns seq. A statement with this step
 * may be executed in several parts (test/fixtures/statements/lint-all.ts), so only rare writes have it.
 */
export const noting = (project: string, rows: string): string =>
  `insert into change_news (project_id, seqs) select ${project}, array[seq] from ${rows}`

/** Notes the traces that exist. Returns the ids of the others. */
export async function noteTraces(sql: Sql, projectId: number, traceIds: readonly string[]): Promise<string[]> {
  const found = await sql<{ id: string }[]>`
    select replace(id::text, '-', '') as id from traces
    where project_id = ${projectId} and id = any (${traceIds as string[]}::uuid[])`
  if (found.length > 0) {
    await sql`
      insert into change_news (project_id, seqs)
      select project_id, array_agg(seq) from traces
      where project_id = ${projectId} and id = any (${found.map(({ id }) => id)}::uuid[]) group by project_id`
  }
  const known = new Set(found.map(({ id }) => id))
  return traceIds.filter(id => !known.has(id))
}
