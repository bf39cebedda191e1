/**
 * The families of traces that are in trace_families for sure: they are remembered when PostgreSQL has committed them, and
 * nothing removes them there. For a trace of another family the row is made when the trace is written, which costs a third
 * of what the rest of a small trace costs PostgreSQL.
 */

/** Of a trace: its project, and a text that tells its family from the project's others. */
export interface FamilyOf {
  readonly projectId: number
  readonly rows: { readonly family: string }
}

/** Bounds the memory. Beyond it the oldest go, which happens only where every trace has a model of its own. */
const MAX_FAMILIES = 10_000

export class KnownFamilies {
  readonly #families = new Set<string>()

  has(trace: FamilyOf): boolean {
    return this.#families.has(keyOf(trace))
  }

  add(trace: FamilyOf): void {
    if (this.#families.size >= MAX_FAMILIES) this.#families.delete(this.#families.keys().next().value as string)
    this.#families.add(keyOf(trace))
  }
}

const keyOf = ({ projectId, rows }: FamilyOf): string => `${projectId}/${rows.family}`
