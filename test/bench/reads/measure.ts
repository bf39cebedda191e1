/** One case of the reads benchmark: requests one after the other on so many connections. */
import { performance } from 'node:perf_hooks'
import { Pool } from 'undici'
import { type CpuTimes, subtractTimes } from '../cpu.ts'

export interface ReadPlan {
  readonly port: number
  readonly key: string
  readonly connections: number
  readonly requests: number
  path(): string
  /** The times of the server and its PostgreSQL so far; undefined: not known here. */
  readTimes(): CpuTimes | undefined
}

/** Times of a request in ms; CPU in µs for each request, NaN where not known. */
export interface ReadFigures {
  readonly p50: number
  readonly p99: number
  readonly perSecond: number
  readonly nodeCpu: number
  readonly postgresCpu: number
}

const WARM_UP_SHARE = 0.2

export async function measureReads(plan: ReadPlan): Promise<ReadFigures> {
  const { connections, requests, readTimes } = plan
  const pool = new Pool(`http://127.0.0.1:${plan.port}`, { connections })
  try {
    await ask(pool, plan, Math.max(connections, requests * WARM_UP_SHARE))
    const before = readTimes()
    const began = performance.now()
    const times = await ask(pool, plan, requests)
    const seconds = (performance.now() - began) / 1000
    const after = readTimes()
    const used = before && after ? subtractTimes(after, before) : { node: Number.NaN, postgres: Number.NaN }
    times.sort((a, b) => a - b)
    const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))]!
    return {
      p50: at(0.5),
      p99: at(0.99),
      perSecond: times.length / seconds,
      nodeCpu: used.node / times.length,
      postgresCpu: used.postgres / times.length
    }
  } finally {
    await pool.close()
  }
}

/** The times of all requests, in ms. */
async function ask(pool: Pool, { connections, key, path }: ReadPlan, requests: number): Promise<number[]> {
  const times: number[] = []
  let left = requests
  const connection = async () => {
    while (left-- > 0) {
      const asked = path()
      const began = performance.now()
      const { statusCode, body } = await pool.request({
        method: 'GET',
        path: asked,
        headers: { authorization: `Bearer ${key}` }
      })
      await body.arrayBuffer()
      if (statusCode !== 200) throw new Error(`GET ${asked} was answered ${statusCode}`)
      times.push(performance.now() - began)
    }
  }
  await Promise.all(Array.from({ length: connections }, connection))
  return times
}
