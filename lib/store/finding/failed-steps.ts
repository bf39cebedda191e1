/** Reads the failed steps of traces, with their errors. */
import type { Sql } from 'postgres'
import type { TableNames } from '../../database/tables.ts'
import { findIn } from '../../search/wanted.ts'
import { failureOfStep, type StepFailure } from '../../trace/failures/step-failure.ts'
import { readSpanTexts, type WantedFailures } from '../spans/span-texts.ts'
import { type ErrorWords, type StepConditions, stepConditionsInSql } from './conditions.ts'

/** A limit above the number of failed steps of any trace. */
export const ALL_FAILURES = 2 ** 31 - 1

/** Returns the traces that have a failed step with this name, kind and error. */
export async function findFailedStep(
  sql: Sql,
  projectId: number,
  seqs: readonly number[],
  step: StepConditions & { readonly error: ErrorWords },
  names: TableNames
): Promise<ReadonlySet<number>> {
  const failures: WantedFailures = { conditions: bind => stepConditionsInSql(step, bind), most: ALL_FAILURES }
  const spans = await readSpanTexts(sql, projectId, { names, seqs, failures })
  const found = new Set<number>()
  for (const span of spans) {
    if (!found.has(span.seq) && hasWords(failureOfStep(span), step.error)) found.add(span.seq)
  }
  return found
}

/** Returns whether the text is the failure's type, or all its words occur in the type and message. */
export function hasWords({ type, message }: StepFailure, { text, wanted }: ErrorWords): boolean {
  if (type !== null && type.toLowerCase() === text.toLowerCase()) return true
  if (wanted === undefined) return false
  return findIn([{ place: 'output', text: `${type ?? ''}\n${message ?? ''}` }], wanted) !== undefined
}
