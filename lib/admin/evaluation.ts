/** Implements `spoor evaluate`, which runs evaluators on a project's traces. */
import { randomBytes } from 'node:crypto'
import type { Sql } from 'postgres'
import type { EvaluatedTrace, Evaluator } from '../evaluation/evaluator.ts'
import { type EvaluationSummary, type RunOptions, runEvaluators, Tally } from '../evaluation/run.ts'
import { STREAMED_BYTES } from '../limits/large-reads.ts'
import { DETAIL_PARTS } from '../store/answers/trace-json.ts'
import { fetchTrace, renderDetail, streamTrace } from '../store/answers/traces.ts'
import { addVerdict, type EvaluationRun, findUnjudged, listRuns, type Unjudged } from '../store/evaluations.ts'
import type { TraceConditions } from '../store/trace/trace-conditions.ts'
import { parseEnvironment, UNASSIGNED } from '../trace/environment.ts'
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
  { project, environment, ...rest }: EvaluationRequest,
  evaluators: readonly Evaluator[],
  options: Omit<RunOptions, 'onProgress'> & { readonly onProgress?: (evaluation: Evaluation) => void }
): Promise<Evaluation> {
  const projectId = await requireProject(sql, project)
  const label = environment?.toLowerCase() === UNASSIGNED ? UNASSIGNED : environment && parseEnvironment(environment)
  const conditions = { ...rest, environment: label }
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
      read: ({ id }) => readEvaluated(sql, projectId, id),
      store: ({ id: evaluatorId, name, dataType }, candidate, verdict) =>
        retried(() => addVerdict(sql, projectId, candidate, { evaluatorId, runId, name, dataType, ...verdict }))
    },
    { ...options, onProgress: () => options.onProgress?.(soFar()) }
  )
  return soFar()
}

/** Reads a trace as evaluators receive it. The JSON of a long trace is parsed part by part and never in memory whole. */
async function readEvaluated(sql: Sql, projectId: number, id: string): Promise<EvaluatedTrace | undefined> {
  const fetched = await fetchTrace(sql, projectId, id, undefined, STREAMED_BYTES)
  if (fetched !== undefined) return JSON.parse(Buffer.concat(await renderDetail(fetched)).toString()) as EvaluatedTrace
  let head = ''
  let last = ''
  const spans: EvaluatedTrace['spans'][number][] = []
  const take = async (part: string) => {
    const text = Buffer.from(part, 'latin1').toString()
    if (head === '') head = text
    else {
      if (last !== '') spans.push(JSON.parse(last.startsWith(',') ? last.slice(1) : last))
      last = text
    }
  }
  if (!(await streamTrace(sql, projectId, id, DETAIL_PARTS, take))) return undefined
  return { ...(JSON.parse(`${head}${last}`) as EvaluatedTrace), spans }
}

/** Returns the latest runs, except runs whose verdicts have been deleted from the project. */
export async function listEvaluations(sql: Sql, project: string): Promise<EvaluationRun[]> {
  return listRuns(sql, await requireProject(sql, project), MOST_RUNS)
}
