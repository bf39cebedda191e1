/**
 * Remembers families that are certainly in trace_families: PostgreSQL has committed them, and nothing removes them
 * there. The statement that adds a family costs a good deal beside a small trace (test/bench/RESULTS.md, "Families of
 * a batch"), so it is sent only for families that are not remembered.
 */

/** The family of a trace: its project, and the number of the family as a text. */
export interface FamilyOf {
  readonly projectId: number
  readonly rows: { readonly family: string }
}

/**
 * Bounds the memory. Beyond it all are forgotten, which happens only if clients make up a model for nearly every trace,
 * and costs one statement for each family that is still in use.
 */
const MAX_FAMILIES = 10_000

export class KnownFamilies {
  readonly #families = new Set<string>()

  has(trace: FamilyOf): boolean {
    return this.#families.has(keyOf(trace))
  }

  add(trace: FamilyOf): void {
    if (this.#families.size >= MAX_FAMILIES) this.#families.clear()
    this.#families.add(keyOf(trace))
  }
}

const keyOf = ({ projectId, rows }: FamilyOf): string => `${projectId}/${rows.family}`
