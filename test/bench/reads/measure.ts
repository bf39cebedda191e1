/** Measures one case of the reads benchmark: each connection sends one request after another. */
import { performance } from 'node:perf_hooks'
import { Connection } from '../load/connection.ts'
import { type CpuTimes, subtractTimes } from '../machine/cpu.ts'

export interface ReadPlan {
  readonly port: number
  /** The header that identifies the caller. */
  readonly credentials: string
  readonly connections: number
  readonly requests: number
  path(): string
  /** Returns the CPU times of the server and its PostgreSQL so far; undefined if unknown. */
  readTimes(): CpuTimes | undefined
}

/** Times of a set of requests in ms, and their CPU time in µs; NaN if unknown. */
interface Sample {
  readonly times: readonly number[]
  readonly seconds: number
  readonly nodeCpu: number
  readonly postgresCpu: number
}

/** Times of a request in ms, and CPU time per request in µs; NaN if unknown. */
export interface ReadFigures {
  readonly p50: number
  readonly p99: number
  readonly perSecond: number
  readonly nodeCpu: number
  readonly postgresCpu: number
}

const WARM_UP_SHARE = 0.2
/** A machine may be twice as fast a minute later, so measurements that are compared take turns. */
const TURNS = 5

/** Returns the figures of each compared plan. */
export async function measureInTurns(plans: readonly ReadPlan[]): Promise<ReadFigures[]> {
  const samples = plans.map((): Sample[] => [])
  for (let turn = 0; turn < TURNS; turn++) {
    for (const [i, plan] of plans.entries()) {
      samples[i]!.push(await measureReads({ ...plan, requests: Math.ceil(plan.requests / TURNS) }))
    }
  }
  return samples.map(sumUp)
}

function sumUp(samples: readonly Sample[]): ReadFigures {
  const times = samples.flatMap(sample => sample.times).sort((a, b) => a - b)
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))]!
  const sum = (of: (sample: Sample) => number) => samples.reduce((sum, sample) => sum + of(sample), 0)
  return {
    p50: at(0.5),
    p99: at(0.99),
    perSecond: times.length / sum(sample => sample.seconds),
    nodeCpu: sum(sample => sample.nodeCpu) / times.length,
    postgresCpu: sum(sample => sample.postgresCpu) / times.length
  }
}

async function measureReads(plan: ReadPlan): Promise<Sample> {
  const { port, credentials, connections, requests, readTimes } = plan
  const askers = Array.from({ length: connections }, () => new Asker(port, credentials))
  try {
    await ask(askers, plan, Math.max(connections, requests * WARM_UP_SHARE))
    const before = readTimes()
    const began = performance.now()
    const times = await ask(askers, plan, requests)
    const seconds = (performance.now() - began) / 1000
    const after = readTimes()
    const used = before && after ? subtractTimes(after, before) : { node: Number.NaN, postgres: Number.NaN }
    return { times, seconds, nodeCpu: used.node, postgresCpu: used.postgres }
  } finally {
    for (const asker of askers) asker.close()
  }
}

/** Returns the times of all requests, in ms. */
async function ask(askers: readonly Asker[], { path }: ReadPlan, requests: number): Promise<number[]> {
  const times: number[] = []
  let left = requests
  const askOn = async (asker: Asker) => {
    while (left-- > 0) times.push(await asker.get(path()))
  }
  await Promise.all(askers.map(askOn))
  return times
}

/** A connection that sends one request at a time. */
class Asker {
  readonly #connection: Connection
  readonly #head: string
  #answered: (status: number) => void = () => {}
  #lost: (reason: string) => void = () => {}

  constructor(port: number, credentials: string) {
    this.#connection = new Connection(port, {
      onAnswer: status => this.#answered(status),
      onLost: reason => this.#lost(reason)
    })
    this.#head = `HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${credentials}\r\n\r\n`
  }

  /** Resolves to the time in ms until the whole response has arrived. */
  get(path: string): Promise<number> {
    return new Promise((resolve, reject) => {
      const began = performance.now()
      this.#answered = status => {
        if (status === 200) resolve(performance.now() - began)
        else reject(new Error(`GET ${path} was answered ${status}`))
      }
      this.#lost = reason => reject(new Error(`GET ${path}: ${reason}`))
      this.#connection.send(Buffer.from(`GET ${path} ${this.#head}`))
    })
  }

  close(): void {
    this.#connection.close()
  }
}
