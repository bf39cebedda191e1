/** Counts one evaluator's verdicts. */

export interface EvaluationSummary {
  /** Traces that got a verdict. */
  readonly judged: number
  /** Traces without a verdict, or deleted, changed or judged by another run in the meantime. */
  readonly passed: number
  /** Failed evaluations, which the next run retries. */
  readonly failed: number
  /** Mean of numeric values, or share of true among booleans; null if there are none. */
  readonly mean: number | null
  /** Number of verdicts per category; empty for other types. */
  readonly categories: Readonly<Record<string, number>>
}

/** More categories than this suggest a faulty evaluator. The rest are counted together. */
const MOST_CATEGORIES = 50
const OTHERS = '(others)'

export class Tally {
  #judged = 0
  #passed = 0
  #failed = 0
  #sum = 0
  #numbers = 0
  readonly #categories = new Map<string, number>()

  count(value: number | string | boolean): void {
    this.#judged++
    if (typeof value === 'string') {
      const name = this.#categories.has(value) || this.#categories.size < MOST_CATEGORIES ? value : OTHERS
      this.#categories.set(name, (this.#categories.get(name) ?? 0) + 1)
      return
    }
    this.#numbers++
    this.#sum += Number(value)
  }

  pass(): void {
    this.#passed++
  }

  fail(): void {
    this.#failed++
  }

  get asked(): number {
    return this.#judged + this.#passed + this.#failed
  }

  get summary(): EvaluationSummary {
    return {
      judged: this.#judged,
      passed: this.#passed,
      failed: this.#failed,
      mean: this.#numbers === 0 ? null : this.#sum / this.#numbers,
      categories: Object.fromEntries(this.#categories)
    }
  }
}
