/** Implements `spoor evaluate`, which runs evaluators on a project's traces. */
import { randomBytes } from 'node:crypto'
import type { Sql } from 'postgres'
import type { Evaluator } from '../evaluation/evaluator.ts'
import { type EvaluationSummary, type RunOptions, runEvaluators, Tally } from '../evaluation/run.ts'
import { readParsedTrace } from '../store/answers/parsed-trace.ts'
import { addVerdict, type EvaluationRun, findUnjudged, listRuns, type Unjudged } from '../store/evaluations.ts'
import type { TraceConditions } from '../store/trace/trace-conditions.ts'
import { requireProject } from './projects.ts'
import { retried } from './retried.ts'

export interface EvaluationRequest extends TraceConditions {
  readonly project: string
  /** Finds the ids of the traces to choose from, newest first and page by page; all traces by default. */
  readonly found?: (() => AsyncIterable<readonly string[]>) | undefined
}

export interface Evaluation {
  readonly runId: string
  readonly evaluators: readonly (Pick<Evaluator, 'id' | 'name' | 'dataType'> & EvaluationSummary)[]
}

const PAGE = 100
const MOST_RUNS = 100

export async function evaluateTraces(
  sql: Sql,
  { project, found, ...conditions }: EvaluationRequest,
  evaluators: readonly Evaluator[],
  options: Omit<RunOptions, 'onProgress'> & { readonly onProgress?: (evaluation: Evaluation) => void }
): Promise<Evaluation> {
  const projectId = await requireProject(sql, project)
  const runId = `${new Date().toISOString().slice(0, 19)}Z-${randomBytes(3).toString('hex')}`
  const tallies = evaluators.map(() => new Tally())
  const soFar = (): Evaluation => ({
    runId,
    evaluators: evaluators.map(({ id, name, dataType }, i) => ({ id, name, dataType, ...tallies[i]!.summary }))
  })
  const unjudged = (evaluatorId: string, behind?: Unjudged, ids?: readonly string[]) =>
    findUnjudged(sql, projectId, evaluatorId, { ...conditions, ids }, behind, ids?.length ?? PAGE)
  /** The pages of `found` that the running evaluator has not reached. */
  let pages: AsyncIterator<readonly string[]> | undefined
  const nextFound = async (evaluatorId: string, isFirst: boolean, from: () => AsyncIterable<readonly string[]>) => {
    if (isFirst || pages === undefined) pages = from()[Symbol.asyncIterator]()
    for (;;) {
      const page = await pages.next()
      if (page.done) return []
      const some = page.value.length === 0 ? [] : await unjudged(evaluatorId, undefined, page.value)
      if (some.length > 0) return some
    }
  }
  await runEvaluators<Unjudged>(
    evaluators,
    tallies,
    {
      next: ({ id }, behind) =>
        found === undefined ? unjudged(id, behind) : nextFound(id, behind === undefined, found),
      read: ({ id }) => readParsedTrace(sql, projectId, id),
      store: ({ id: evaluatorId, name, dataType }, candidate, verdict) =>
        retried(() => addVerdict(sql, projectId, candidate, { evaluatorId, runId, name, dataType, ...verdict }))
    },
    { ...options, onProgress: () => options.onProgress?.(soFar()) }
  )
  return soFar()
}

/** Returns the latest runs, except runs whose verdicts have been deleted from the project. */
export async function listEvaluations(sql: Sql, project: string): Promise<EvaluationRun[]> {
  return listRuns(sql, await requireProject(sql, project), MOST_RUNS)
}
