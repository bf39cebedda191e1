import { formatCounted } from '../ui/format.ts'
import type { RowMark } from './step-marks.ts'

/** Shows whether a step is a retry, and whether it ran in parallel with others. */
export function StepMarks({ mark: { attempt, together } = {} }: { mark: RowMark | undefined }) {
  return (
    <>
      {attempt !== undefined && (
        <span class="step-mark" title="The same call failed before">
          attempt {attempt}
        </span>
      )}
      {together !== undefined && (
        <span class="step-mark" title={`Ran in parallel with ${formatCounted(together - 1, 'other step')}`}>
          <span aria-hidden="true">∥</span>
          <span class="unseen">parallel, </span>
          {together}
        </span>
      )}
    </>
  )
}
