/** Runs evaluators on traces, several at a time. The caller passes the store, so that tests need no database. */
import { setTimeout as delay } from 'node:timers/promises'
import { type EvaluatedTrace, type Evaluator, readVerdict, type Verdict } from './evaluator.ts'

export interface Candidate {
  readonly id: string
}

/** A run's access to a project's traces. */
export interface EvaluatedTraces<C extends Candidate> {
  /** Returns the next traces after `behind` that the evaluator has not judged; empty if there are no more. */
  next(evaluator: Evaluator, behind: C | undefined): Promise<readonly C[]>
  /** Returns the trace's detail; undefined if the trace no longer exists. */
  read(candidate: C): Promise<EvaluatedTrace | undefined>
  store(evaluator: Evaluator, candidate: C, verdict: Verdict): Promise<'added' | 'judged' | 'changed' | 'full'>
}

export interface RunOptions {
  /** Maximum number of concurrent evaluations. */
  readonly concurrency: number
  /** Maximum number of traces that each evaluator judges. */
  readonly limit: number
  /** Time limit of an evaluation, in ms. An evaluation that exceeds the limit fails. */
  readonly timeoutMs: number
  /** Whether to keep looking for new traces until `signal` aborts. */
  readonly follow: boolean
  readonly signal: AbortSignal
  readonly onProgress?: () => void
  readonly onError?: (evaluator: Evaluator, traceId: string, message: string) => void
}

/** With `follow`, the minimum pause between searches, in ms and as a multiple of the last search's duration. */
const PAUSE_MS = 2000
const PAUSE_FACTOR = 10

/**
 * Runs the evaluators one after another. With `follow`, repeats all runs until aborted. Updates each evaluator's tally.
 */
export async function runEvaluators<C extends Candidate>(
  evaluators: readonly Evaluator[],
  tallies: readonly Tally[],
  traces: EvaluatedTraces<C>,
  options: RunOptions
): Promise<void> {
  const idle = evaluators.map(() => new Set<string>())
  for (;;) {
    const began = performance.now()
    for (const [i, evaluator] of evaluators.entries()) {
      await runEvaluator(evaluator, tallies[i]!, idle[i]!, traces, options)
    }
    if (!options.follow || options.signal.aborted) return
    const pause = Math.max(PAUSE_MS, PAUSE_FACTOR * (performance.now() - began))
    await delay(pause, undefined, { signal: options.signal }).catch(() => {})
    if (options.signal.aborted) return
  }
}

/** Runs one evaluator. `idle` holds the traces that got no verdict and are skipped for the rest of the run. */
async function runEvaluator<C extends Candidate>(
  evaluator: Evaluator,
  tally: Tally,
  idle: Set<string>,
  traces: EvaluatedTraces<C>,
  options: RunOptions
): Promise<void> {
  let behind: C | undefined
  let left = options.limit - tally.asked
  let page: C[] = []
  let isLast = false
  let failure: unknown
  let turn: Promise<unknown> = Promise.resolve()
  /** Takes the next candidate. One worker at a time fetches a page. */
  const take = async (): Promise<C | undefined> => {
    const mine = turn.then(async () => {
      while (page.length === 0 && !isLast) {
        const found = await traces.next(evaluator, behind)
        isLast = found.length === 0
        behind = found.at(-1)
        page = found.filter(({ id }) => !idle.has(id))
      }
      return page.shift()
    })
    turn = mine.catch(() => {})
    return mine
  }
  const work = async (): Promise<void> => {
    while (!options.signal.aborted && failure === undefined && left-- > 0) {
      const candidate = await take()
      if (candidate === undefined) return
      if (!(await judge(evaluator, candidate, tally, traces, options))) idle.add(candidate.id)
      options.onProgress?.()
    }
  }
  const workers = Array.from({ length: options.concurrency }, () =>
    work().catch(error => {
      failure ??= error
    })
  )
  await Promise.all(workers)
  if (failure !== undefined) throw failure
}

/** Runs the evaluator on the candidate and stores the verdict. Resolves to false if the trace still has no verdict. */
async function judge<C extends Candidate>(
  evaluator: Evaluator,
  candidate: C,
  tally: Tally,
  traces: EvaluatedTraces<C>,
  options: RunOptions
): Promise<boolean> {
  const fail = (error: unknown) => {
    tally.fail()
    options.onError?.(evaluator, candidate.id, error instanceof Error ? error.message : String(error))
    return false
  }
  const pass = (isJudged: boolean) => {
    tally.pass()
    return isJudged
  }
  const detail = await traces.read(candidate)
  if (detail === undefined) return pass(true)
  let verdict: Verdict | undefined
  try {
    verdict = readVerdict(evaluator, await ask(evaluator, detail, options))
  } catch (error) {
    // A failure after an abort is assumed to result from the abort, so it is not counted.
    return options.signal.aborted ? false : fail(error)
  }
  if (verdict === undefined) return pass(false)
  const stored = await traces.store(evaluator, candidate, verdict)
  if (stored === 'full') return fail(new Error('the trace already has the maximum number of scores'))
  if (stored !== 'added') return pass(stored === 'judged')
  tally.count(verdict.value)
  return true
}

/** Runs the evaluator on a trace, within its time limit. */
async function ask(evaluator: Evaluator, detail: EvaluatedTrace, { timeoutMs, signal }: RunOptions): Promise<unknown> {
  const late = new AbortController()
  const both = AbortSignal.any([signal, late.signal])
  const over = new Promise<never>((_, reject) => {
    both.addEventListener('abort', () =>
      reject(late.signal.aborted ? new Error(`timed out after ${timeoutMs / 1000} s`) : both.reason)
    )
  })
  const timer = setTimeout(() => late.abort(), timeoutMs)
  try {
    // The async function turns a synchronous throw into a rejection. A throw before the race would leave nothing to
    // handle the rejection of `over`.
    const answer = (async () => evaluator.evaluate(detail, { signal: both }))()
    return await Promise.race([answer, over])
  } finally {
    clearTimeout(timer)
  }
}

export interface EvaluationSummary {
  /** Traces that got a verdict. */
  readonly judged: number
  /** Traces that got no verdict, or that were deleted, changed or judged by another run in the meantime. */
  readonly passed: number
  /** Failed evaluations, which the next run retries. */
  readonly failed: number
  /** Mean of numeric values, or the share of booleans that are true; null if there are no such values. */
  readonly mean: number | null
  /** Number of verdicts per category; empty for other types. */
  readonly categories: Readonly<Record<string, number>>
}

/**
 * Maximum number of categories counted individually; the rest are counted together. More categories suggest a faulty
 * evaluator.
 */
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
