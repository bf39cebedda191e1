/**
 * Generates ordinary traces, so that lists and charts look like those of a busy project. The times, users and number of
 * runs follow a weekly rhythm; prompts, releases, an outage and an expensive day change over the period.
 */
import type { ScoreInput, TraceInput } from '../../schema/input.ts'
import { clock, type DemoTrace, traceId } from '../parts.ts'
import { codingAgent, researchAgent } from './long-runs.ts'
import { between, choose, frequent, integer, type Random, randomFrom, weighted } from './random.ts'
import { DemoRun } from './run.ts'
import { ordinaryScores } from './scores.ts'
import {
  catalogueSearch,
  classifyMail,
  type DemoChat,
  extractInvoice,
  type RunOutcome,
  type Scene,
  stockSync,
  supportTurn,
  translateBlurb
} from './short-runs.ts'
import { supportCase } from './texts.ts'

const DAY_MS = 24 * 3_600_000

/** The share of traces that never ended. They are the newest ordinary traces. */
const ONE_RUNNING_IN = 400

const RUNS = {
  'support-agent': 34,
  'catalogue-search': 24,
  'classify-mail': 15,
  'translate-blurb': 9,
  'extract-invoice': 9,
  'stock-sync': 6,
  'coding-agent': 1.6,
  'research-agent': 1.4
} as const
type RunName = keyof typeof RUNS
const WEIGHTS = Object.entries(RUNS) as [RunName, number][]

const PEOPLE = ['ada', 'bo', 'chloe', 'dmitri', 'eun-ji', 'farid', 'grace', 'hiro', 'ines', 'jonas', 'kofi', 'lena']
const USERS = PEOPLE.flatMap(name => [`${name}@example.com`, `${name}@example.org`, `${name}@example.net`])
const TENANTS = ['acme', 'globex', 'initech', 'hooli', 'umbrella']
const RELEASES = ['2.13.2', '2.14.0', '2.14.1', '2.15.0']

interface Planned {
  readonly name: RunName
  readonly start: number
  readonly user: string
  readonly tenant: string
  readonly environment: 'production' | 'staging' | 'development'
  readonly session?: { readonly id: string; readonly conversation: DemoChat }
}

/**
 * Yields `count` traces from the `days` before `end`, oldest first. The same seed yields the same traces with new ids.
 */
export function* ordinaryTraces(end: number, count: number, days = 1, seed = 1): Generator<DemoTrace> {
  const random = randomFrom(seed)
  const planned: Planned[] = []
  while (planned.length < count) planned.push(...plan(end, days, random).slice(0, count - planned.length))
  planned.sort((a, b) => a.start - b.start)
  for (const [i, each] of planned.entries()) {
    const trace = generate(each, 1 - (end - each.start) / (days * DAY_MS), randomFrom(random() * 2 ** 32))
    yield count - i <= Math.floor(count / ONE_RUNNING_IN) ? interrupt(trace) : trace
  }
}

/** Leaves a trace running, without its last step: its application stopped, or it is slow. */
function interrupt({ body, environment }: DemoTrace): DemoTrace {
  const { endedAt, status, output, usage, costUsd, spans = [], ...trace } = body.trace
  // Clients send a step when it has ended, so the root step is missing as well.
  const rest = spans.slice(1, -1)
  return { body: { ...body, trace: { ...trace, spans: rest } }, ...(environment !== undefined && { environment }) }
}

/** Plans a run, or a conversation of several runs. */
function plan(end: number, days: number, random: Random): Planned[] {
  const name = weighted(WEIGHTS, random)
  const start = startOf(end, days, random)
  const who = { user: frequent(USERS, random), tenant: frequent(TENANTS, random) }
  const environments = name === 'coding-agent' ? ([0, 1, 4] as const) : ([16, 3, 1] as const)
  const environment = weighted(
    [
      ['production', environments[0]],
      ['staging', environments[1]],
      ['development', environments[2]]
    ] as const,
    random
  )
  if (name !== 'support-agent') return [{ name, start, ...who, environment }]
  const session = {
    id: `chat-${integer(10_000, 99_999, random)}`,
    conversation: { about: supportCase(random), history: [] }
  }
  const turns: Planned[] = []
  for (let at = start; turns.length < 6 && at <= end; at += between(25_000, 240_000, random)) {
    turns.push({ name, start: Math.round(at), ...who, environment, session })
    if (random() < 0.42) break
  }
  return turns
}

/** Most runs happen on working days, during the day. */
function startOf(end: number, days: number, random: Random): number {
  for (;;) {
    const start = Math.round(end - random() * days * DAY_MS)
    const at = new Date(start)
    const isWeekend = at.getUTCDay() % 6 === 0
    const byHour = 0.15 + 0.85 * Math.max(0, Math.sin(((at.getUTCHours() - 5) / 16) * Math.PI))
    if (random() < byHour * (isWeekend ? 0.35 : 1)) return start
  }
}

/** `progress` is 0 at the beginning of the period and 1 at its end. */
function sceneOf(progress: number, random: Random): Scene {
  const isNew = random() < (progress < 0.4 ? 0 : progress < 0.7 ? 0.5 : 0.92)
  const isOutage = progress > 0.72 && progress < 0.735
  return {
    prompt: isNew ? 'v13' : 'v12',
    rejected: isOutage ? 0.6 : 0.012,
    isExpensive: progress > 0.86 && progress < 0.9
  }
}

function outcomeOf({ name, session }: Planned, run: DemoRun, scene: Scene): RunOutcome {
  if (name === 'support-agent') return supportTurn(run, scene, session!.conversation)
  if (name === 'catalogue-search') return catalogueSearch(run, scene)
  if (name === 'classify-mail') return classifyMail(run, scene)
  if (name === 'translate-blurb') return translateBlurb(run, scene)
  if (name === 'extract-invoice') return extractInvoice(run, scene)
  if (name === 'coding-agent') return codingAgent(run, scene)
  if (name === 'research-agent') return researchAgent(run, scene)
  return stockSync(run)
}

function generate(planned: Planned, progress: number, random: Random): DemoTrace {
  const scene = sceneOf(progress, random)
  const release = RELEASES[Math.floor(Math.max(0, progress) * 0.999 * RELEASES.length)]!
  // A script that sorts mail reports only tokens, so its traces have no cost.
  const isCostReported = planned.name !== 'classify-mail'
  const run = new DemoRun(planned.start, random, isCostReported)
  const { input, output, failure, model, judged } = outcomeOf(planned, run, scene)
  const at = clock(planned.start)
  const hasPrompt = planned.name === 'support-agent' || planned.name === 'catalogue-search'
  const trace: TraceInput = {
    id: traceId(),
    name: planned.name,
    status: failure === undefined ? (planned.name === 'stock-sync' ? 'unset' : 'ok') : 'error',
    startedAt: at(0),
    endedAt: at(run.now + 2),
    ...(model !== undefined && { provider: model.provider, model: model.model }),
    tags: ['demo', `release:${release}`, `tenant:${planned.tenant}`, ...(hasPrompt ? [`prompt:${scene.prompt}`] : [])],
    ...(planned.name !== 'stock-sync' && { userId: planned.user }),
    ...(planned.session !== undefined && { sessionId: planned.session.id }),
    metadata: {
      release,
      region: choose(['eu-west-1', 'eu-central-1', 'us-east-1'], random),
      ...(hasPrompt && { promptVersion: scene.prompt })
    },
    input,
    ...(output !== undefined && { output }),
    ...(run.usage.totalTokens > 0 && planned.name !== 'classify-mail' && { usage: run.usage }),
    ...(isCostReported && run.costUsd > 0 && { costUsd: run.costUsd }),
    spans: [...run.spans]
  }
  const scores: ScoreInput[] = ordinaryScores(planned.name, failure !== undefined, scene.prompt, judged, random)
  return { body: { schemaVersion: 1, trace }, scores, environment: planned.environment }
}
