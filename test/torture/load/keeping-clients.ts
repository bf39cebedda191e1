/**
 * Clients that keep their connections and never send again: whatever is not answered 2xx is noted. So they show what a
 * server that goes does to those that use it as most HTTP clients do.
 */
import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'
import { ingestBody } from '../../fixtures/bodies/bodies.ts'

export interface KeepingClients {
  /** How many requests were answered 2xx so far. */
  readonly answered: () => number
  /**
   * The failures, a few words each. A refused connection is none; a reset one is a failure only if a request had been
   * answered on it, or `strict` is set.
   */
  readonly failures: readonly string[]
  stop(): Promise<void>
}

interface Options {
  readonly clients: number
  /** The pause of a client between an answer and its next request. */
  readonly pauseMs: number
  /** For clients of a server that stays. */
  readonly strict?: boolean
}

/** Starts clients that record traces until they are stopped, or the test is over. */
export function startKeepingClients(
  t: Test,
  address: string,
  key: string,
  { clients, pauseMs, strict = false }: Options
): KeepingClients {
  const failures: string[] = []
  let answered = 0
  let running = true

  async function send(agent: Agent): Promise<void> {
    try {
      const status = await post(agent, address, key)
      if (status >= 200 && status < 300) answered++
      else failures.push(`answered ${status}`)
    } catch (error) {
      const { code, message, isReused } = error as NodeJS.ErrnoException & { isReused: boolean }
      if (code !== 'ECONNREFUSED' && (strict || isReused)) failures.push(`${code ?? ''} ${message}`)
      await delay(20)
    }
  }

  const all = Array.from({ length: clients }, async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    while (running) {
      await send(agent)
      await delay(pauseMs)
    }
    agent.destroy()
  })
  const stop = async () => {
    running = false
    await Promise.all(all)
  }
  t.teardown(stop)
  return { answered: () => answered, failures, stop }
}

function post(agent: Agent, address: string, key: string): Promise<number> {
  const body = JSON.stringify(ingestBody())
  const headers = { authorization: `Bearer ${key}`, 'content-length': Buffer.byteLength(body) }
  return new Promise((resolve, reject) => {
    const sent = request(`${address}/api/v1/traces`, { method: 'POST', agent, headers }, response => {
      response
        .on('error', error => reject(Object.assign(error, { isReused: true })))
        .resume()
        .on('end', () => resolve(response.statusCode ?? 0))
    })
    sent.on('error', error => reject(Object.assign(error, { isReused: sent.reusedSocket }))).end(body)
  })
}
