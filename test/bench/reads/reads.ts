/** `npm run bench -- reads`: fills databases of several sizes and asks the same of each. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { connectTo } from '../../../lib/database/connection.ts'
import { ingestBody } from '../bodies.ts'
import { readCpuTimes } from '../cpu.ts'
import { type Machine, readMachine } from '../machine.ts'
import { UsageError } from '../options.ts'
import type { Progress } from '../progress.ts'
import type { Place, Service } from '../service.ts'
import { readFreeNumber } from '../tables.ts'
import { TRACE_ID_PLACE } from '../template.ts'
import type { BareDetail } from './bare-detail-server.ts'
import { makeCases, NEIGHBOUR_CASES, type ReadCase } from './cases.ts'
import { BYTES_PER_TRACE, fillProject, isFilled } from './fill.ts'
import { measureReads, type ReadFigures } from './measure.ts'
import { openNeighbour } from './neighbour.ts'
import type { ReadsOptions } from './options.ts'

/** Of one case, with one connection and with many. */
export interface CaseResult {
  readonly name: string
  readonly one: ReadFigures
  readonly many: ReadFigures
}

export interface DetailResult extends CaseResult {
  /** Answers a second to those of the bare server, with many connections. */
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
  /** In the last of the sizes. */
  readonly details: readonly DetailResult[]
}

const MANY = 32
const DETAILS = ['typical', 'large'] as const
const FREE_BYTES = 5 * 1024 ** 3
/** Connections that a database is filled over. */
const FILLERS = 2

/** Does `work` with a service of its own. */
type WithService = <T>(place: Place, work: (service: Service, progress: Progress) => Promise<T>) => Promise<T>

/** Undefined: it was only to be filled. */
export async function measureAllReads(
  options: ReadsOptions,
  withService: WithService
): Promise<ReadsResults | undefined> {
  const { stored, data, requests } = options
  const sizes: SizeResult[] = []
  let last: Pick<ReadsResults, 'machine' | 'details'> | undefined
  for (const traces of stored) {
    const kept = data && join(data, String(traces))
    await withService({ ...options, kept }, async (service, progress) => {
      await fill(service, options, traces, progress)
      if (options.fill) return
      sizes.push({ traces, cases: await measureCases(service, options, progress) })
      if (sizes.length < stored.length) return
      const details: DetailResult[] = []
      for (const kind of DETAILS) details.push(await measureDetail(service, options, kind, progress))
      last = { machine: await readMachine(service.sql, options.folder), details }
    })
  }
  return last && { ...last, requests, sizes }
}

/** Fills the project, unless that was done in an earlier run. */
async function fill(service: Service, options: ReadsOptions, traces: number, progress: Progress): Promise<void> {
  const { sql, projectId } = service
  if (await isFilled(sql, projectId)) return
  await checkSpace(options, traces)
  const connections = [sql, ...Array.from({ length: FILLERS - 1 }, () => connectTo(service.target))]
  try {
    await fillProject(connections, { projectId, traces, firstNumber: await readFreeNumber(sql) }, what => {
      progress.step = `filling: ${what}`
    })
  } finally {
    for (const each of connections.slice(1)) await each.end({ timeout: 1 })
  }
  await sql`checkpoint`
}

async function measureCases(service: Service, options: ReadsOptions, progress: Progress): Promise<CaseResult[]> {
  const results: CaseResult[] = []
  const measure = async (cases: readonly ReadCase[], key: string) => {
    for (const each of cases) {
      if (!options.only.some(part => each.name.includes(part))) continue
      progress.step = each.name
      results.push(await measureCase({ ...service, key }, options, each))
    }
  }
  await measure(await makeCases(service.sql, service.projectId), service.key)
  await measure(NEIGHBOUR_CASES, (await openNeighbour(service)).key)
  return results
}

async function measureCase(
  service: Service,
  { requests }: ReadsOptions,
  { name, path }: ReadCase
): Promise<CaseResult> {
  const plan = { ...planOf(service), requests, path }
  return {
    name,
    one: await measureReads({ ...plan, connections: 1 }),
    many: await measureReads({ ...plan, connections: MANY })
  }
}

/** What one body of this kind costs to read, and what the bare server makes of the same bytes. */
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
  const result = await measureCase(service, options, { name, path: () => `/api/v1/traces/${traceId}` })
  const server = fork(new URL('bare-detail-server.js', import.meta.url))
  try {
    const detail: BareDetail = { target, projectId: row.projectId, traceId, text }
    server.send(detail)
    const [port] = await once(server, 'message')
    progress.step = `detail, ${kind}: the bare server`
    const plan = { ...planOf(service), port, requests: options.requests, path: () => '/' }
    const bare = await measureReads({ ...plan, connections: MANY })
    return { ...result, ratio: result.many.perSecond / bare.perSecond }
  } finally {
    server.kill()
  }
}

function planOf({ port, key, pid, postmasterPid }: Service) {
  return { port, key, readTimes: () => readCpuTimes(pid, postmasterPid) }
}

async function checkSpace({ folder, data }: ReadsOptions, traces: number): Promise<void> {
  const place = data ?? folder
  await mkdir(place, { recursive: true })
  const needed = traces * BYTES_PER_TRACE + FREE_BYTES
  const { bavail, bsize } = await statfs(place)
  if (bavail * bsize >= needed) return
  throw new UsageError(`--stored needs ${Math.ceil(needed / 1e9)} GB free in ${place}; see --folder and --data`)
}
