/** A client for each of several projects, which records and reads traces continuously and remembers the responses. */
import { setTimeout as delay } from 'node:timers/promises'
import { ingestBody, span } from '../fixtures/bodies/bodies.ts'
import type { PlacedProject } from './projects.ts'

const PAUSE_MS = 20
/** The statuses allowed while a node is down or a shard moves. The prefix `r` marks the statuses of reads. */
const ALLOWED = ['201', '429', 'r200', 'r503']

/** The number of responses by status, and the time of the slowest response. */
export interface Answers {
  readonly statuses: Readonly<Record<string, number>>
  readonly longestMs: number
  /** Time from the first rejection to the last. */
  readonly refusedMs: number
}

export class Client {
  readonly project: PlacedProject
  readonly #url: () => string
  readonly #stored: string[] = []
  readonly #work: Promise<void>
  #answers: { status: string; at: number; ms: number }[] = []
  #isOver = false

  constructor(url: () => string, project: PlacedProject) {
    this.#url = url
    this.project = project
    this.#work = this.#go()
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#work
  }

  /** Returns the responses since the previous call. */
  take(): { status: string; at: number; ms: number }[] {
    const answers = this.#answers
    this.#answers = []
    return answers
  }

  /** Records a trace. Resolves to the status. */
  async record(): Promise<number> {
    const body = ingestBody({ spans: [span()] })
    const status = await this.#ask('/api/v1/traces', body)
    if (status === 201) this.#stored.push(body.trace.id)
    return status
  }

  /** Counts the traces that were answered with 201 but are not stored. */
  async countMissing(): Promise<number> {
    let missing = 0
    for (const id of this.#stored) if ((await this.#ask(`/api/v1/traces/${id}`)) !== 200) missing++
    return missing
  }

  async #go(): Promise<void> {
    while (!this.#isOver) {
      await this.#timed('', () => this.record())
      // A trace that was just recorded is readable, even while its shard moves.
      const last = this.#stored.at(-1)
      await this.#timed('r', () => this.#ask(`/api/v1/traces${last === undefined ? '' : `/${last}`}`))
      await this.#timed('r', () => this.#ask('/api/v1/traces?limit=1'))
      await delay(PAUSE_MS)
    }
  }

  async #timed(kind: '' | 'r', ask: () => Promise<number>): Promise<void> {
    const at = performance.now()
    const status = `${kind}${await ask()}`
    this.#answers.push({ status, at, ms: performance.now() - at })
  }

  async #ask(path: string, body?: object): Promise<number> {
    const headers = { authorization: `Bearer ${this.project.key}`, 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    const answer = await fetch(this.#url() + path, { ...sent, headers })
    await answer.arrayBuffer()
    return answer.status
  }
}

/** Adds up the clients' responses since the previous call. */
export function takeAnswers(clients: readonly Client[]): Answers {
  const all = clients.flatMap(client => client.take())
  const statuses: Record<string, number> = {}
  for (const { status } of all) statuses[status] = (statuses[status] ?? 0) + 1
  const refusals = all.filter(({ status }) => !['201', 'r200'].includes(status))
  const first = Math.min(...refusals.map(({ at }) => at))
  const last = Math.max(...refusals.map(({ at, ms }) => at + ms))
  return {
    statuses,
    longestMs: Math.round(Math.max(0, ...all.map(({ ms }) => ms))),
    refusedMs: refusals.length === 0 ? 0 : Math.round(last - first)
  }
}

/** Returns the statuses that are not allowed. */
export const forbidden = (...answers: readonly Answers[]): string[] =>
  answers.flatMap(({ statuses }) => Object.keys(statuses)).filter(status => !ALLOWED.includes(status))
