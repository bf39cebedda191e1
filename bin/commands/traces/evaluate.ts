import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Evaluation } from '../../../lib/admin/evaluation.ts'
import { AdminError } from '../../../lib/admin-error.ts'
import type { Evaluator } from '../../../lib/evaluation/evaluator.ts'
import type { EvaluationRun } from '../../../lib/store/evaluations.ts'
import type { Asker, QueryMembers } from '../../asking/asker.ts'
import type { DatabaseAsker } from '../../asking/beside-database.ts'
import { command, UsageError } from '../../command.ts'
import { type DatabaseSession, withDatabase } from '../../database.ts'
import { Interrupted, interruptible } from '../../terminal/interrupt.ts'
import { table } from '../../terminal/table.ts'
import { count, counted, relativeTime } from '../../terminal/words.ts'
import { foundPages, readSelection, SELECTION_FLAGS } from './selection.ts'

const CONCURRENCY = 4
const MOST_CONCURRENCY = 100
const TIMEOUT_S = 120
/** Maximum number of errors printed individually; the rest are counted. */
const MOST_TOLD = 10
/** Maximum number of categories shown per line. */
const MOST_SHOWN = 5

export default command({
  summary: 'Run evaluators on traces they have not scored yet',
  parameters: ['FILE'],
  flags: {
    project: { type: 'string', value: 'SLUG', required: true, about: 'evaluate traces in this project' },
    ...SELECTION_FLAGS,
    limit: { type: 'string', value: 'N', about: 'the maximum number of traces, newest first' },
    concurrency: {
      type: 'string',
      value: 'N',
      about: `the number of concurrent evaluations; ${CONCURRENCY} by default`
    },
    timeout: {
      type: 'string',
      value: 'S',
      about: `the maximum duration of each evaluation, in seconds; ${TIMEOUT_S} by default`
    },
    follow: { type: 'boolean', about: 'keep evaluating new traces until you press Ctrl-C' },
    'fail-below': {
      type: 'string',
      value: 'X',
      about: 'exit with code 1 if a mean, or the share of true values, is below X'
    }
  },
  details: [
    'FILE is a JavaScript module whose default export is an evaluator or a list of evaluators:',
    '',
    '  export default {',
    "    id: 'short-answer',            // permanent: each id scores a trace once",
    "    name: 'short',                 // the name of its scores",
    "    dataType: 'boolean',           // or numeric, categorical",
    '    evaluate: ({ trace, spans, scores }) => String(trace.output).length < 500',
    '  }',
    '',
    '`evaluate` receives the trace as the API returns it. It returns a value, { value, comment, spanId }, or nothing',
    'if it has no verdict, and can be async. Verdicts are stored as scores with the source `eval`. Running traces are',
    'skipped. A trace that has grown since its last evaluation is evaluated again. Failed evaluations are counted, and',
    'the next run retries them; the exit code is 1 only if all evaluations failed. The file runs with the privileges',
    'of this command.'
  ].join('\n'),
  examples: [
    'evaluate ./short.mjs --project default',
    'evaluate ./judge.mjs --project default --since 7d --tag support --concurrency 16',
    "evaluate ./judge.mjs --project default --step lookup_order --score 'helpfulness<0.5'",
    'evaluate ./judge.mjs --project default --name nightly-check --fail-below 0.8 --json',
    'evaluate list --project default'
  ],
  async run({ parameters, flags, env, print, progress }) {
    const concurrency = parseCount('concurrency', flags.concurrency, MOST_CONCURRENCY) ?? CONCURRENCY
    const limit = parseCount('limit', flags.limit, Number.MAX_SAFE_INTEGER) ?? Number.POSITIVE_INFINITY
    const timeoutMs = (parseCount('timeout', flags.timeout, 86_400) ?? TIMEOUT_S) * 1000
    const failBelow = parseNumber('fail-below', flags['fail-below'])
    const { project } = flags
    const { conditions, isFurther, query } = readSelection(flags)
    const evaluators = await load(parameters.FILE)
    const unordered = failBelow === undefined ? undefined : evaluators.find(each => each.dataType === 'categorical')
    if (unordered !== undefined)
      throw new UsageError(`--fail-below needs numbers or booleans, but ${unordered.id} returns categories`)
    let told = 0
    const onError = ({ id }: Evaluator, traceId: string, message: string) => {
      if (++told <= MOST_TOLD) progress.say(`${id} on trace ${traceId}: ${message.split('\n', 1)[0]}`)
      if (told === MOST_TOLD) progress.say('further errors are counted but not shown')
    }
    const evaluation = await withDatabase(env, async session => {
      const { evaluateTraces } = await import('../../../lib/admin/evaluation.ts')
      const asker = isFurther ? await askerOf(session, project) : undefined
      const found = asker && (() => foundIds(asker, query))
      try {
        return await interruptible(async signal => {
          const onProgress = (soFar: Evaluation) => progress.show(() => describeProgress(soFar))
          const { follow } = flags
          const done = await evaluateTraces(session.sql, { project, ...conditions, found }, evaluators, {
            ...{ concurrency, limit, timeoutMs, follow, signal, onError, onProgress }
          })
          if (signal.aborted && !follow) {
            throw new Interrupted(
              `interrupted: ${describeProgress(done)}; run the command again to continue`,
              signal.reason
            )
          }
          return done
        })
      } finally {
        await asker?.close()
      }
    })
    progress.clear()
    print(evaluation, describe(evaluation))
    check(evaluation, failBelow)
  }
})

export const list = command({
  summary: 'List evaluator results by run',
  flags: { project: { type: 'string', value: 'SLUG', required: true, about: 'list runs in this project' } },
  examples: ['evaluate list --project default', 'evaluate list --project default --json'],
  async run({ flags, env, print }) {
    const { listEvaluations } = await import('../../../lib/admin/evaluation.ts')
    const runs = await withDatabase(env, ({ sql }) => listEvaluations(sql, flags.project))
    print(runs, runTable(runs))
  }
})

async function askerOf(session: DatabaseSession, project: string): Promise<DatabaseAsker> {
  // Loaded here because --help does not need this module.
  const { DatabaseAsker } = await import('../../asking/beside-database.ts')
  return DatabaseAsker.open(session, project)
}

/** Yields the ids of the traces that the query finds, page by page. */
async function* foundIds(asker: Asker, query: QueryMembers): AsyncGenerator<string[], void> {
  for await (const page of foundPages(asker, query)) yield page.map(({ id }) => id)
}

async function load(file: string): Promise<Evaluator[]> {
  const path = resolve(file)
  if (!existsSync(path)) throw new AdminError(`there is no file ${JSON.stringify(file)}`)
  let module: Record<string, unknown>
  try {
    module = await import(pathToFileURL(path).href)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const advice = /\.[cm]?tsx?$/.test(path) ? ' (TypeScript must be compiled to JavaScript first)' : ''
    throw new AdminError(`${file} cannot be loaded: ${message.split('\n', 1)[0]}${advice}`)
  }
  // Loaded here because --help does not need this module.
  const { EvaluatorError, readEvaluators } = await import('../../../lib/evaluation/evaluator.ts')
  try {
    return readEvaluators(module)
  } catch (error) {
    if (error instanceof EvaluatorError) throw new AdminError(`${file}: ${error.message}`)
    throw error
  }
}

function parseCount(flag: string, text: string | undefined, most: number): number | undefined {
  if (text === undefined) return undefined
  const number = /^\d{1,16}$/.test(text) ? Number(text) : 0
  if (number >= 1 && number <= most) return number
  const bound = most === Number.MAX_SAFE_INTEGER ? '1 or more' : `from 1 to ${most}`
  throw new UsageError(`--${flag} must be ${bound}, not ${JSON.stringify(text)}`)
}

function parseNumber(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^-?\d+(\.\d+)?$/.test(text)) return Number(text)
  throw new UsageError(`--${flag} must be a number such as 0.8, not ${JSON.stringify(text)}`)
}

type Result = Evaluation['evaluators'][number]

function describeProgress({ evaluators }: Evaluation): string {
  return evaluators
    .map(({ id, judged, failed }) => `${id}: ${count(judged)} judged, ${count(failed)} failed`)
    .join('; ')
}

function describe({ runId, evaluators }: Evaluation): string {
  const rows = evaluators.map(each => [each.id, each.name, count(each.judged), verdicts(each), count(each.failed)])
  return `run ${runId}\n\n${table(['EVALUATOR', 'SCORE', 'JUDGED', 'VERDICTS', 'FAILED'], rows, '')}`
}

function verdicts({ dataType, mean, categories }: Pick<Result, 'dataType' | 'mean'> & Partial<Result>): string {
  if (mean !== null) return dataType === 'boolean' ? `${(mean * 100).toFixed(1)} % true` : `mean ${mean.toPrecision(4)}`
  const all = Object.entries(categories ?? {}).sort(([, one], [, other]) => other - one)
  const shown = all.slice(0, MOST_SHOWN).map(([name, times]) => `${name} ${count(times)}`)
  return [...shown, ...(all.length > MOST_SHOWN ? [`${all.length - MOST_SHOWN} more`] : [])].join(', ')
}

/**
 * Throws an AdminError, which sets the exit code, if an evaluator failed on every trace or if its mean score is too
 * low.
 */
function check({ evaluators }: Evaluation, failBelow: number | undefined): void {
  const failed = evaluators.find(each => each.failed > 0 && each.judged === 0)
  if (failed !== undefined) {
    throw new AdminError(`all ${counted(failed.failed, 'evaluation')} of ${failed.id} failed: see above`)
  }
  if (failBelow === undefined) return
  for (const { id, mean, judged } of evaluators) {
    if (mean !== null && mean < failBelow) throw new AdminError(`${id}: ${mean.toPrecision(4)} is below ${failBelow}`)
    if (judged === 0) throw new AdminError(`${id}: no verdicts to compare with ${failBelow}`)
  }
}

function runTable(runs: readonly EvaluationRun[]): string {
  const rows = runs.map(({ runId, evaluatorId, name, traces, lastAt, ...run }) => [
    ...[runId, evaluatorId, name, count(traces)],
    run.mostFrequent === null
      ? verdicts({ dataType: run.dataType as Result['dataType'], mean: run.mean })
      : `mostly ${run.mostFrequent}`,
    relativeTime(lastAt)
  ])
  return table(
    ['RUN', 'EVALUATOR', 'SCORE', 'TRACES', 'VERDICTS', 'LAST'],
    rows,
    'no evaluator has scored traces in this project yet'
  )
}
