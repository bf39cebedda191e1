/** `npm run bench -- reads`: fills projects of several sizes, one beside the other, and asks the same of each. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { statfs } from 'node:fs/promises'
import { KEYS_CHANNEL } from '../../../lib/store/keys.ts'
import { ingestBody } from '../bodies.ts'
import { readCpuTimes } from '../cpu.ts'
import { type Machine, readMachine } from '../machine.ts'
import { UsageError } from '../options.ts'
import type { Progress } from '../progress.ts'
import type { Service } from '../service.ts'
import { readFreeNumber } from '../tables.ts'
import { TRACE_ID_PLACE } from '../template.ts'
import type { BareDetail } from './bare-detail-server.ts'
import { makeCases, type ReadCase } from './cases.ts'
import { BYTES_PER_TRACE, fillProject } from './fill.ts'
import { measureReads, type ReadFigures } from './measure.ts'
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
  /** Among all that is stored. */
  readonly details: readonly DetailResult[]
}

const MANY = 32
const DETAILS = ['typical', 'large'] as const
const FREE_BYTES = 5 * 1024 ** 3

export async function measureAllReads(
  service: Service,
  options: ReadsOptions,
  progress: Progress
): Promise<ReadsResults> {
  await checkSpace(options)
  const machine = await readMachine(service.sql, options.folder)
  const sizes: SizeResult[] = []
  for (const traces of options.stored) sizes.push(await measureSize(service, options, traces, progress))
  const details: DetailResult[] = []
  for (const kind of DETAILS) details.push(await measureDetail(service, options, kind, progress))
  return { machine, requests: options.requests, sizes, details }
}

async function measureSize(
  service: Service,
  options: ReadsOptions,
  traces: number,
  progress: Progress
): Promise<SizeResult> {
  const { sql } = service
  const projectId = await moveToNewProject(service)
  const plan = { projectId, traces, firstNumber: await readFreeNumber(sql) }
  await fillProject(sql, plan, what => {
    progress.step = `filling: ${what}`
  })
  await sql`checkpoint`
  const cases: CaseResult[] = []
  for (const each of await makeCases(sql, projectId)) {
    progress.step = `${traces} traces: ${each.name}`
    cases.push(await measureCase(service, options, each))
  }
  return { traces, cases }
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

/** Makes another project, and lets the key act for it from now on. */
async function moveToNewProject({ sql, key }: Service): Promise<number> {
  const keyId = key.split('_').at(-2)!
  const [row] = await sql<[{ id: number }]>`
    with made as (
      insert into projects (account_id, name, slug)
      select account_id, 'reads', 'reads-' || count(*) over () + (select max(id) from projects) from projects limit 1
      returning id
    ), moved as (update api_keys set project_id = (select id from made) where id = ${keyId} returning id)
    select made.id, pg_notify(${KEYS_CHANNEL}, moved.id) from made, moved`
  return row.id
}

async function checkSpace({ stored, folder }: ReadsOptions): Promise<void> {
  const needed = stored.reduce((sum, traces) => sum + traces * BYTES_PER_TRACE, FREE_BYTES)
  const { bavail, bsize } = await statfs(folder)
  if (bavail * bsize >= needed) return
  throw new UsageError(`--stored needs ${Math.ceil(needed / 1e9)} GB free in ${folder}; see --folder`)
}
