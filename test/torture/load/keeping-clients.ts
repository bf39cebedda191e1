/**
 * Clients that keep their connections and never retry. They record every response without a 2xx status, and thus show
 * the effect of a stopping server on typical HTTP clients.
 */
import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'
import { ingestBody } from '../../fixtures/bodies/bodies.ts'

export interface KeepingClients {
  /** Returns the number of requests that were answered with a 2xx status. */
  readonly answered: () => number
  /**
   * The failures, each in a few words. A refused connection is not a failure. A reset is a failure only if a request
   * had been answered on the connection, or if `strict` is set.
   */
  readonly failures: readonly string[]
  stop(): Promise<void>
}

interface Options {
  readonly clients: number
  /** A client's pause between a response and the next request. */
  readonly pauseMs: number
  /** Whether every reset is a failure, because the server does not stop. */
  readonly strict?: boolean
}

/** Starts clients that record traces until they are stopped, or until the test ends. */
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
