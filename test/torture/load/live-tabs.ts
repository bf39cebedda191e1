/** Dashboard tabs that show a live list, together with clients that record as fast as possible. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'
import { Agent, fetch } from 'undici'
import { ingestBody } from '../../bench/bodies/bodies.ts'
import { readCpuTimes } from '../../bench/machine/cpu.ts'
import { traceId } from '../../fixtures/bodies/bodies.ts'
import { FROM_PAGE } from '../../fixtures/service/people.ts'
import { dataFolder, serve } from '../../fixtures/service/spoor.ts'

const CLIENTS = 8
/** Building a body takes longer than recording it, so these bodies are reused with new ids. */
const BODIES = Array.from({ length: 16 }, (_, variant) => ingestBody('typical', variant)).map(body => ({
  text: JSON.stringify(body),
  id: body.trace.id
}))
const TURNS = 3
const TURN_MS = 6000
/** Polling interval of a tab while traces arrive (plugins/dashboard/app/list/live.ts). */
const LOOK_MS = 2000
/** A shorter polling interval, to measure the cost of one poll. */
const HASTY_LOOK_MS = 200

export interface Cost {
  /** CPU time of server and database for one poll, in ms. */
  readonly perLook: number
  /** Traces recorded per second, without and with the tabs. */
  readonly alone: number
  readonly beside: number
}

interface Turn {
  readonly clients: number
  readonly tabs: number
  readonly lookMs: number
}

export class LiveTabs {
  readonly #address: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #cookie: string
  readonly #cpu: () => number
  readonly #dispatcher = new Agent({ connections: CLIENTS + 60 })
  #recorded = 0
  #looks = 0
  #faults = 0

  private constructor(address: string, key: string, cookie: string, cpu: () => number) {
    this.#address = address
    this.#headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    this.#cookie = cookie
    this.#cpu = cpu
  }

  static async start(t: Test): Promise<LiveTabs> {
    const folder = await dataFolder(t)
    const { serving, address, key, dashboard } = await serve(t, { DATA_DIR: folder })
    const postmaster = Number.parseInt(readFileSync(join(folder, 'postgres/data/postmaster.pid'), 'utf8'), 10)
    const token = dashboard!.slice(dashboard!.indexOf('#') + 1)
    const answer = await fetch(`${address}/app/api/sign-in/link`, {
      method: 'POST',
      headers: FROM_PAGE,
      body: JSON.stringify({ token })
    })
    const cookie = String(answer.headers.get('set-cookie')).split(';')[0] as string
    const cpu = () => {
      const times = readCpuTimes(serving.pid, postmaster)
      return times === undefined ? Number.NaN : times.node + times.postgres
    }
    return new LiveTabs(address, key!, cookie, cpu)
  }

  /**
   * Measures the cost of open tabs: the CPU time of their polls, and the reduction in recorded traces. The measurements
   * take turns, because a machine's speed changes from minute to minute.
   */
  async measure(tabs: number): Promise<Cost> {
    const recording = { clients: CLIENTS, tabs: 0, lookMs: LOOK_MS }
    await this.#turn(recording)
    const perLook: number[] = []
    const alone: number[] = []
    const beside: number[] = []
    for (let i = 0; i < TURNS; i++) {
      alone.push((await this.#turn(recording)).perSecond)
      beside.push((await this.#turn({ ...recording, tabs })).perSecond)
      const idle = await this.#turn({ clients: 0, tabs: 0, lookMs: HASTY_LOOK_MS })
      const looking = await this.#turn({ clients: 0, tabs, lookMs: HASTY_LOOK_MS })
      perLook.push((looking.cpuMs - idle.cpuMs) / looking.looks)
    }
    if (this.#faults > 0) throw new Error(`${this.#faults} requests failed`)
    const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[(TURNS - 1) / 2] as number
    return { perLook: median(perLook), alone: Math.round(median(alone)), beside: Math.round(median(beside)) }
  }

  async #turn({ clients, tabs, lookMs }: Turn): Promise<{ cpuMs: number; looks: number; perSecond: number }> {
    const [cpu, recorded, looks, start] = [this.#cpu(), this.#recorded, this.#looks, performance.now()]
    const end = start + TURN_MS
    await Promise.all([
      delay(TURN_MS),
      ...Array.from({ length: clients }, () => this.#record(end)),
      ...Array.from({ length: tabs }, (_, i) => this.#look(end, (i * lookMs) / tabs, lookMs))
    ])
    return {
      cpuMs: (this.#cpu() - cpu) / 1000,
      looks: this.#looks - looks,
      perSecond: (this.#recorded - recorded) / ((performance.now() - start) / 1000)
    }
  }

  async #record(end: number): Promise<void> {
    while (performance.now() < end) {
      const { text, id } = BODIES[this.#recorded++ % BODIES.length]!
      const body = text.replace(id, traceId())
      await this.#ask('/api/v1/traces', { method: 'POST', headers: this.#headers, body })
    }
  }

  async #look(end: number, after: number, everyMs: number): Promise<void> {
    await delay(after)
    while (performance.now() < end) {
      const headers = { ...FROM_PAGE, cookie: this.#cookie }
      await this.#ask('/app/api/p/default/trace-summaries', { headers })
      this.#looks++
      await delay(everyMs)
    }
  }

  async #ask(path: string, options: object): Promise<void> {
    const answer = await fetch(this.#address + path, { ...options, dispatcher: this.#dispatcher })
    await answer.arrayBuffer()
    if (!answer.ok) this.#faults++
  }
}
