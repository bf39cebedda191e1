/**
 * Compares a tool with its route: the CPU time of `tools/call` of list_traces with that of the same GET. The two take
 * turns, so that other load on the machine affects both.
 */
import { Pool } from 'undici'
import { addTimes, type CpuTimes, divideTimes, NO_TIMES, subtractTimes } from './machine/cpu.ts'

export interface ListCostPlan {
  readonly port: number
  /** A key with read access. Its project should contain at least a page of traces. */
  readonly key: string
  /** Number of requests of each kind per round. */
  readonly requests: number
  readonly rounds: number
  /** Returns the CPU times of the server and its PostgreSQL so far. */
  readTimes(): CpuTimes
}

/** CPU time of one request, in µs. */
export interface ListCost {
  readonly get: CpuTimes
  readonly call: CpuTimes
}

const CONNECTIONS = 4
const WARM_UP_REQUESTS = 500

export async function measureListCost(plan: ListCostPlan): Promise<ListCost> {
  const pool = new Pool(`http://127.0.0.1:${plan.port}`, { connections: CONNECTIONS })
  const get = { method: 'GET', path: '/api/v1/traces', headers: { authorization: `Bearer ${plan.key}` } } as const
  const params = { name: 'list_traces', arguments: {} }
  const call = {
    method: 'POST',
    path: '/api/mcp',
    headers: { ...get.headers, accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  } as const
  const send = async (request: typeof get | typeof call) => {
    const { statusCode, body } = await pool.request(request)
    await body.arrayBuffer()
    if (statusCode !== 200) throw new Error(`${request.method} ${request.path} was answered ${statusCode}`)
  }
  const sendMany = async (request: typeof get | typeof call, requests: number) => {
    const share = Array.from({ length: requests / CONNECTIONS })
    await Promise.all(
      Array.from({ length: CONNECTIONS }, async () => {
        for (const _ of share) await send(request)
      })
    )
  }

  let total = { get: NO_TIMES, call: NO_TIMES }
  try {
    await sendMany(get, WARM_UP_REQUESTS)
    await sendMany(call, WARM_UP_REQUESTS)
    for (let round = 0; round < plan.rounds; round++) {
      const start = plan.readTimes()
      await sendMany(get, plan.requests)
      const middle = plan.readTimes()
      await sendMany(call, plan.requests)
      const end = plan.readTimes()
      total = {
        get: addTimes(total.get, subtractTimes(middle, start)),
        call: addTimes(total.call, subtractTimes(end, middle))
      }
    }
  } finally {
    await pool.close()
  }
  const each = plan.requests * plan.rounds
  return { get: divideTimes(total.get, each), call: divideTimes(total.call, each) }
}
