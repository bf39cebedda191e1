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
}

export interface Evaluation {
  readonly runId: string
  readonly evaluators: readonly (Pick<Evaluator, 'id' | 'name' | 'dataType'> & EvaluationSummary)[]
}

const PAGE = 100
const MOST_RUNS = 100

export async function evaluateTraces(
  sql: Sql,
  { project, ...conditions }: EvaluationRequest,
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
  await runEvaluators<Unjudged>(
    evaluators,
    tallies,
    {
      next: ({ id }, behind) => findUnjudged(sql, projectId, id, conditions, behind, PAGE),
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
