/**
 * Requests over persistent connections of node:http. A background request does not keep the process alive: when the
 * process ends by itself, it sends for a limited time (send/exit.ts), even if the service never responds.
 */
import { Agent, type IncomingMessage, request as overHttp } from 'node:http'
import { request as overTls, Agent as TlsAgent } from 'node:https'
import type { ServerAnswer } from '../../send/answer.ts'
import type { Outgoing, Wire } from '../types.ts'

/**
 * Idle connections are closed before servers close them, usually after 5 s, because a request could be sent just as the
 * server closes its connection.
 */
const IDLE_MS = 4000
const kept = { keepAlive: true, maxSockets: 8, timeout: IDLE_MS }

export default function (): Wire {
  const agents = { 'http:': new Agent(kept), 'https:': new TlsAgent(kept) }
  return {
    send: exchange => sendOnce(agents, exchange),
    close() {
      for (const agent of Object.values(agents)) agent.destroy()
    }
  }
}

type Agents = { readonly 'http:': Agent; readonly 'https:': TlsAgent }

function sendOnce(
  agents: Agents,
  { url, method, headers, body, isBackground, signal }: Outgoing
): Promise<ServerAnswer> {
  return new Promise((answered, failed) => {
    signal.throwIfAborted()
    const isTls = url.protocol === 'https:'
    const agent = isTls ? agents['https:'] : agents['http:']
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
    const request = (isTls ? overTls : overHttp)(url, { method, agent, headers: { ...headers, ...length } })
    const abort = () => void request.destroy(signal.reason)
    signal.addEventListener('abort', abort)
    // Requests share connections, so each request sets whether its connection keeps the process alive.
    request.on('socket', socket => (isBackground ? socket.unref?.() : socket.ref?.()))
    request.on('response', response => {
      textOf(response).then(text => {
        const retryAfter = response.headers['retry-after']
        answered({ status: response.statusCode!, text, retryAfter })
      }, failed)
    })
    request.on('error', failed)
    request.on('close', () => signal.removeEventListener('abort', abort))
    request.end(body)
  })
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = ''
  response.setEncoding('utf8')
  for await (const piece of response) text += piece
  return text
}
