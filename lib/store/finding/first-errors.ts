/**
 * Reads the first error of traces: that of the failed step that ended first, before the steps that contain it. A search
 * with conditions on a step prefers the failed steps that meet them.
 */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'
import { CUT } from '../../schema/history/search.ts'
import { failureOfStep } from '../../trace/failures/step-failure.ts'
import { readSpanTexts, type SpanTextRow, type WantedFailures } from '../spans/span-texts.ts'
import { type StepConditions, stepConditionsInSql } from './conditions.ts'
import { ALL_FAILURES, hasWords } from './failed-steps.ts'
import { cutText } from './preview.ts'

/** Selects the first failed step of each trace. */
const FIRST_FAILURE: WantedFailures = { conditions: () => [], most: 1 }

/**
 * Selects the failed steps of each trace from which `chooseFailure` chooses. The words of an error are known only from
 * texts, so a search for them needs all failed steps with the name and kind.
 */
export function failuresFor(step: StepConditions | undefined): WantedFailures {
  if (step === undefined) return FIRST_FAILURE
  const conditions: WantedFailures['conditions'] = bind => stepConditionsInSql({ ...step, status: 'error' }, bind)
  return step.error === undefined ? { ...FIRST_FAILURE, preferred: conditions } : { conditions, most: ALL_FAILURES }
}

/** Returns the first failed step that the search asks for, or else the first failed step. */
export function chooseFailure<S extends SpanTextRow>(steps: readonly S[], asked: StepConditions = {}): S | undefined {
  const { name, kind, error } = asked
  const failed = steps.filter(({ status }) => status === 'error')
  const isAsked = (step: S) =>
    (name === undefined || step.name === name) &&
    (kind === undefined || step.kind === kind) &&
    (error === undefined || hasWords(failureOfStep(step), error))
  return failed.find(isAsked) ?? failed[0]
}

/** Returns the step and its error as responses show them. */
export function firstErrorOf(step: SpanTextRow) {
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
