/**
 * The families of traces that are in trace_families for sure: they are remembered when PostgreSQL has committed them, and
 * never taken away there. For a trace of another family the row is looked for, and made, when the trace is copied, which
 * costs 50 us of PostgreSQL's CPU where the rest of a small trace takes 140.
 */
import type { TraceLists } from '../../rows/list-numbers.ts'

/** A family's number, among those of its project. */
export const familyText = ({ family: { high, low } }: TraceLists): string => `${high},${low}`

/** Whose family it is. */
export interface Kindred {
  readonly projectId: number
  readonly rows: { readonly family: string }
}

/** Where every trace has a model of its own, the oldest make room. */
const MOST = 10_000

export class KnownFamilies {
  readonly #families = new Set<string>()

  has(trace: Kindred): boolean {
    return this.#families.has(keyOf(trace))
  }

  add(trace: Kindred): void {
    if (this.#families.size >= MOST) this.#families.delete(this.#families.keys().next().value as string)
    this.#families.add(keyOf(trace))
  }
}

const keyOf = ({ projectId, rows }: Kindred): string => `${projectId}/${rows.family}`
