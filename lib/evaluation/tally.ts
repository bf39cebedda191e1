/** Counts the verdicts of one evaluator. */

export interface EvaluationSummary {
  /** Traces that got a verdict. */
  readonly judged: number
  /** Traces of which it said nothing, or that were gone, changed or judged by another run meanwhile. */
  readonly passed: number
  /** Evaluations that failed; the next run asks again. */
  readonly failed: number
  /** The mean of numeric values, or the share of true among booleans; null if there are none. */
  readonly mean: number | null
  /** How often each category was given; empty for other types. */
  readonly categories: Readonly<Record<string, number>>
}

/** More categories than that are a mistake of the evaluator, and are counted together. */
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

  /** How often the evaluator was asked. */
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
