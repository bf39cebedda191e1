/** `npm run bench -- reads`: fills databases of several sizes and sends the same requests to each, in turns. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { connectTo } from '../../../lib/database/connection.ts'
import { ingestBody } from '../bodies/bodies.ts'
import { TRACE_ID_PLACE } from '../bodies/template.ts'
import { readFreeNumber } from '../copy/tables.ts'
import { readCpuTimes } from '../machine/cpu.ts'
import { type Machine, readMachine } from '../machine/machine.ts'
import type { Place, Service } from '../machine/service.ts'
import { UsageError } from '../options.ts'
import type { Progress } from '../progress.ts'
import type { BareDetail } from './bare-detail-server.ts'
import { CHART_CASES, GROUP_CASES, makeCases, NEIGHBOUR_CASES, PAGE, type ReadCase } from './cases.ts'
import { BYTES_PER_TRACE, fillProject, fillSums, isFilled } from './fill.ts'
import { measureInTurns, type ReadFigures, type ReadPlan } from './measure.ts'
import { openNeighbour } from './neighbour.ts'
import type { ReadsOptions } from './options.ts'
import { signIn } from './visitor.ts'

/** The figures of one case, with one connection and with many. */
export interface CaseResult {
  readonly name: string
  /** Number of rows on a page; undefined unless the response is a list. */
  readonly rows: number | undefined
  readonly one: ReadFigures
  readonly many: ReadFigures
}

export interface DetailResult extends CaseResult {
  /** Responses per second, divided by those of the bare server, with many connections. */
  readonly ratio: number
}

export interface SizeResult {
  readonly traces: number
  readonly cases: readonly CaseResult[]
}

export interface ReadsResults {
  readonly machine: Machine
  readonly requests: number
  readonly sizes: readonly SizeResult[]
  /** Figures for reading the detail of a trace, measured in the largest database. */
  readonly details: readonly DetailResult[]
}

const MANY = 32
const DETAILS = ['typical', 'large'] as const
/** Number of requests until V8 has compiled the code. */
const WARM_UP_REQUESTS = 1500
const FREE_BYTES = 5 * 1024 ** 3
/** Number of connections that fill a database. */
const FILLERS = 2

/** Runs `work` with its own service. */
type WithService = <T>(place: Place, work: (service: Service, progress: Progress) => Promise<T>) => Promise<T>

/** A filled database with its server. */
interface Filled {
  readonly traces: number
  readonly service: Service
}

/**
 * Returns undefined if databases were only to be filled. All databases are open at once, so that each case can query
 * them in turns.
 */
export async function measureAllReads(
  options: ReadsOptions,
  withService: WithService
): Promise<ReadsResults | undefined> {
  const { stored, data, fill: isOnlyFilled } = options
  const open = async (left: readonly number[], filled: readonly Filled[]): Promise<ReadsResults | undefined> => {
    const [traces, ...others] = left as [number, ...number[]]
    const kept = data && join(data, options.isOfSums ? `${traces}-sums` : String(traces))
    return withService({ ...options, kept }, async (service, progress) => {
      await fill(service, options, traces, progress)
      const all = [...filled, { traces, service }]
      if (others.length === 0) return isOnlyFilled ? undefined : measureSizes(all, options, progress)
      progress.step = ''
      return open(others, all)
    })
  }
  return open(stored, [])
}

async function measureSizes(
  filled: readonly Filled[],
  options: ReadsOptions,
  progress: Progress
): Promise<ReadsResults> {
  const sizes = await measureCases(filled, options, progress)
  const { service } = filled.at(-1)!
  const details: DetailResult[] = []
  if (isWanted('detail', options)) {
    for (const kind of DETAILS) details.push(await measureDetail(service, options, kind, progress))
  }
  return { machine: await readMachine(service.sql, options.folder), requests: options.requests, sizes, details }
}

/** Fills the project, unless that was done in an earlier run. */
async function fill(service: Service, options: ReadsOptions, traces: number, progress: Progress): Promise<void> {
  const { sql, projectId } = service
  if (await isFilled(sql, projectId)) return
  await checkSpace(options, traces)
  const connections = [sql, ...Array.from({ length: FILLERS - 1 }, () => connectTo(service.target))]
  try {
    const plan = { projectId, traces, firstNumber: await readFreeNumber(sql) }
    const fill = options.isOfSums ? fillSums : fillProject
    await fill(connections, plan, what => {
      progress.step = `filling: ${what}`
    })
  } finally {
    for (const each of connections.slice(1)) await each.end({ timeout: 1 })
  }
  await sql`checkpoint`
}

async function measureCases(
  filled: readonly Filled[],
  options: ReadsOptions,
  progress: Progress
): Promise<SizeResult[]> {
  const asked: AskedCase[][] = []
  for (const { service, traces } of filled) {
    progress.step = 'warming up'
    const cases = await prepareCases(service, traces, options)
    await measureInTurns([{ ...planOf(service), ...cases[0]!, requests: WARM_UP_REQUESTS, connections: 1 }])
    asked.push(cases)
  }
  const sizes = filled.map(({ traces }) => ({ traces, cases: [] as CaseResult[] }))
  for (const [i, { name }] of asked[0]!.entries()) {
    if (!isWanted(name, options)) continue
    progress.step = name
    const sources = filled.map(({ service }, size) => ({ ...planOf(service), ...asked[size]![i]! }))
    const results = await measureCase(sources, options, name)
    for (const [size, result] of results.entries()) sizes[size]!.cases.push(result)
  }
  return sizes
}

const isWanted = (name: string, { only }: ReadsOptions): boolean => only.some(part => name.includes(part))

/** A case, with the header that identifies its caller. */
interface AskedCase extends ReadCase {
  readonly credentials: string
}

async function prepareCases(service: Service, traces: number, { isOfSums }: ReadsOptions): Promise<AskedCase[]> {
  const visitor = await signIn(service)
  const asVisitor = (each: ReadCase): AskedCase => ({ ...each, credentials: visitor })
  if (isOfSums) return CHART_CASES.map(asVisitor)
  const large = await makeCases(service.sql, service.projectId, traces)
  const { key } = await openNeighbour(service)
  return [
    ...large.map(each => ({ ...each, credentials: bearer(service.key) })),
    ...[...CHART_CASES, ...GROUP_CASES].map(asVisitor),
    ...NEIGHBOUR_CASES.map(each => ({ ...each, credentials: bearer(key) }))
  ]
}

/** A server, and the path to request from it. */
type Source = Pick<ReadPlan, 'port' | 'credentials' | 'path' | 'readTimes'>

/**
 * Measures the same case on several sources in turns. If the first source does not fill a page, no more rows are
 * requested from the other sources.
 */
async function measureCase(
  sources: readonly Source[],
  { requests }: ReadsOptions,
  name: string
): Promise<CaseResult[]> {
  const rows = await Promise.all(sources.map(countRows))
  const least = rows[0] || PAGE
  const plans = sources.map(source => ({
    ...source,
    requests,
    path: least === PAGE ? source.path : () => withLimit(source.path(), least)
  }))
  const one = await measureInTurns(plans.map(plan => ({ ...plan, connections: 1 })))
  const many = await measureInTurns(plans.map(plan => ({ ...plan, connections: MANY })))
  return rows.map((rows, i) => ({ name, rows: rows && Math.min(rows, least), one: one[i]!, many: many[i]! }))
}

const withLimit = (path: string, rows: number) => `${path}${path.includes('?') ? '&' : '?'}limit=${rows}`

/** Returns the number of rows on a page; undefined if the response is not a list. */
async function countRows({ port, credentials, path }: Source): Promise<number | undefined> {
  const [name, value] = credentials.split(': ') as [string, string]
  const answer = await fetch(`http://127.0.0.1:${port}${path()}`, { headers: { [name]: value } })
  const body = (await answer.json()) as { readonly traces?: unknown; readonly scores?: unknown }
  const list = body.traces ?? body.scores
  return Array.isArray(list) ? list.length : undefined
}

/** Measures reading a body of this kind, and the bare server with the same bytes. */
async function measureDetail(
  service: Service,
  options: ReadsOptions,
  kind: (typeof DETAILS)[number],
  progress: Progress
): Promise<DetailResult> {
  const { target, key } = service
  const body = ingestBody(kind, 0)
  progress.step = `detail, ${kind}`
  const traceId = TRACE_ID_PLACE.replace('f', kind === 'large' ? 'e' : 'd')
  const headers = { authorization: `Bearer ${key}` }
  const traces = `http://127.0.0.1:${service.port}/api/v1/traces`
  await fetch(traces, { method: 'POST', headers, body: JSON.stringify(body).replace(TRACE_ID_PLACE, traceId) })
  const text = await (await fetch(`${traces}/${traceId}`, { headers })).text()
  const [row] = await service.sql<[{ projectId: number }]>`
    select project_id as "projectId" from traces where id = ${traceId}`

  const name = `detail of ${body.trace.spans!.length} spans, ${Math.round(text.length / 1000)} kB`
  const server = fork(new URL('bare-detail-server.js', import.meta.url))
  try {
    const detail: BareDetail = { target, projectId: row.projectId, traceId, text }
    server.send(detail)
    const [port] = await once(server, 'message')
    const ours = { ...planOf(service), path: () => `/api/v1/traces/${traceId}` }
    const bare = { ...planOf(service), port, path: () => '/' }
    const plans = (connections: number) =>
      [ours, bare].map(plan => ({ ...plan, requests: options.requests, connections }))
    const [one] = await measureInTurns(plans(1))
    const [many, limit] = await measureInTurns(plans(MANY))
    return { name, rows: undefined, one: one!, many: many!, ratio: many!.perSecond / limit!.perSecond }
  } finally {
    server.kill()
  }
}

const bearer = (key: string) => `Authorization: Bearer ${key}`

function planOf({ port, key, pid, postmasterPid }: Service) {
  return { port, credentials: bearer(key), readTimes: () => readCpuTimes(pid, postmasterPid) }
}

async function checkSpace({ folder, data, isOfSums }: ReadsOptions, traces: number): Promise<void> {
  const place = data ?? folder
  await mkdir(place, { recursive: true })
  const needed = traces * (isOfSums ? BYTES_PER_TRACE / 10 : BYTES_PER_TRACE) + FREE_BYTES
  const { bavail, bsize } = await statfs(place)
  if (bavail * bsize >= needed) return
  throw new UsageError(`--stored needs ${Math.ceil(needed / 1e9)} GB free in ${place}; see --folder and --data`)
}
