/** A client for each of some projects, which records traces and reads all the while, and remembers what it was answered. */
import { setTimeout as delay } from 'node:timers/promises'
import { ingestBody, span } from '../fixtures/bodies/bodies.ts'
import type { PlacedProject } from './projects.ts'

const PAUSE_MS = 20
/** The statuses allowed while a node is away or a shard moves; `r` marks those of reads. */
const ALLOWED = ['201', '429', 'r200', 'r503']

/** The number of responses by status, and the time of the slowest. */
export interface Answers {
  readonly statuses: Readonly<Record<string, number>>
  readonly longestMs: number
  /** From the first answer that was a refusal to the last one. */
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

  /** The answers since this was asked last. */
  take(): { status: string; at: number; ms: number }[] {
    const answers = this.#answers
    this.#answers = []
    return answers
  }

  /** Records a trace, and resolves to the status. */
  async record(): Promise<number> {
    const body = ingestBody({ spans: [span()] })
    const status = await this.#ask('/api/v1/traces', body)
    if (status === 201) this.#stored.push(body.trace.id)
    return status
  }

  /** How many of the traces that were answered 201 are not there. */
  async countMissing(): Promise<number> {
    let missing = 0
    for (const id of this.#stored) if ((await this.#ask(`/api/v1/traces/${id}`)) !== 200) missing++
    return missing
  }

  async #go(): Promise<void> {
    while (!this.#isOver) {
      await this.#timed('', () => this.record())
      // The trace that was just recorded is readable, also while its shard moves.
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

/** Adds up what these clients were answered since it was asked last. */
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

/** The statuses that may not be answered. */
export const forbidden = (...answers: readonly Answers[]): string[] =>
  answers.flatMap(({ statuses }) => Object.keys(statuses)).filter(status => !ALLOWED.includes(status))
