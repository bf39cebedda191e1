/**
 * Lets evaluators judge traces, several at a time. What it asks of the store it is given, so that it can be tried
 * without one.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type EvaluatedTrace, type Evaluator, readVerdict, type Verdict } from './evaluator.ts'
import type { Tally } from './tally.ts'

/** A trace that is to be judged. */
export interface Candidate {
  readonly id: string
}

/** The traces of a project, as a run asks for them. */
export interface EvaluatedTraces<C extends Candidate> {
  /** The next traces that the evaluator has not judged, after `behind`; an empty list if there are no more. */
  next(evaluator: Evaluator, behind: C | undefined): Promise<readonly C[]>
  /** The detail; undefined if the trace is gone. */
  read(candidate: C): Promise<EvaluatedTrace | undefined>
  store(evaluator: Evaluator, candidate: C, verdict: Verdict): Promise<'added' | 'judged' | 'changed' | 'full'>
}

export interface RunOptions {
  /** Evaluations at a time. */
  readonly concurrency: number
  /** The most traces that each evaluator judges. */
  readonly limit: number
  /** In ms; an evaluation that takes longer is an error. */
  readonly timeoutMs: number
  /** Goes on looking for new traces until it is told to end. */
  readonly follow: boolean
  readonly signal: AbortSignal
  readonly onProgress?: () => void
  readonly onError?: (evaluator: Evaluator, traceId: string, message: string) => void
}

/** The pause of `follow`, and how many times as long as a search took it is at least. */
const PAUSE_MS = 2000
const PAUSE_FACTOR = 10

/**
 * Runs the evaluators one after the other, again and again with `follow`; `tallies` has one for each, and is kept up to
 * date.
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

/** `idle` has the traces on which the evaluator gave no verdict. It is not asked again in the same run. */
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
  /** The next candidate. One worker at a time asks for a page. */
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

/** Whether the trace has a verdict of the evaluator now. */
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
    // Told to end, it failed for that.
    return options.signal.aborted ? false : fail(error)
  }
  if (verdict === undefined) return pass(false)
  const stored = await traces.store(evaluator, candidate, verdict)
  if (stored === 'full') return fail(new Error('the trace has all the scores that it may have'))
  if (stored !== 'added') return pass(stored === 'judged')
  tally.count(verdict.value)
  return true
}

/** Lets the evaluator judge a trace, within its time. */
async function ask(evaluator: Evaluator, detail: EvaluatedTrace, { timeoutMs, signal }: RunOptions): Promise<unknown> {
  const late = new AbortController()
  const both = AbortSignal.any([signal, late.signal])
  const over = new Promise<never>((_, reject) => {
    both.addEventListener('abort', () =>
      reject(late.signal.aborted ? new Error(`took longer than ${timeoutMs / 1000} s`) : both.reason)
    )
  })
  const timer = setTimeout(() => late.abort(), timeoutMs)
  try {
    // An async function turns an error that the evaluator throws at once into a rejection. So the race takes it, and
    // `over` is awaited.
    const answer = (async () => evaluator.evaluate(detail, { signal: both }))()
    return await Promise.race([answer, over])
  } finally {
    clearTimeout(timer)
  }
}
