/** Reads the first error of traces: that of the failed step that ended first, before the steps that contain it. */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'
import { CUT } from '../../schema/history/search.ts'
import { failureOfStep } from '../../trace/failures/step-failure.ts'
import { readSpanTexts } from '../spans/span-texts.ts'
import { cutText } from './preview.ts'

/** Selects the first failed step of each trace. */
export const FIRST_FAILURE = { conditions: () => [], most: 1 }

/** Returns the step and its error as responses show them. */
export function firstErrorOf(step: Awaited<ReturnType<typeof readSpanTexts>>[number]) {
  const { id, name, kind } = step
  const { type, message } = failureOfStep(step)
  return { spanId: id, step: name, kind, type, message: message === null ? null : cutText(message, CUT.message) }
}

/** Returns the first errors of the traces that have a failed step, by trace id. */
export async function readFirstErrors(
  sql: Sql,
  projectId: number,
  ids: readonly string[],
  names: TableNames = SCHEMA_NAMES
): Promise<ReadonlyMap<string, ReturnType<typeof firstErrorOf>>> {
  const failing = await sql.unsafe<{ seq: number; id: string }[]>(
    `select seq, replace(id::text, '-', '') as id from ${names.traces}
    where project_id = $1 and id = any ($2::uuid[]) and error_count > 0`,
    [projectId, ids as string[]],
    { prepare: true }
  )
  const seqs = failing.map(({ seq }) => seq)
  const steps = await readSpanTexts(sql, projectId, { names, seqs, failures: FIRST_FAILURE })
  const bySeq = new Map(steps.map(step => [step.seq, firstErrorOf(step)]))
  return new Map(
    failing.flatMap(({ seq, id }) => {
      const error = bySeq.get(seq)
      return error === undefined ? [] : [[id, error]]
    })
  )
}
