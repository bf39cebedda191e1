/**
 * Imitates the model providers OpenAI, Anthropic and Google on a loopback address, at no cost. Instrumented clients and
 * coding agents call this server in tests. Unless a test supplies its own model, all responses are the same
 * (test/provider/facts.ts).
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { callsOnce, type Model } from './answer.ts'
import { messages } from './anthropic-messages.ts'
import { errorBody, failureOf, type House } from './failures.ts'
import { generateContent, streamGenerateContent } from './google-generate.ts'
import { chatCompletion } from './openai-chat.ts'
import { embeddings } from './openai-embeddings.ts'
import { responses } from './openai-responses.ts'
import type { Body, NewId, Reply, Route, ServerSentEvent } from './reply.ts'

export interface Provider {
  /** OpenAI's clients append `/v1` to this address. Anthropic's and Google's clients use it unchanged. */
  readonly url: string
  close(): Promise<void>
}

/** Routes by the end of the path, because the start differs between clients. */
const ROUTES: readonly { readonly ending: string; readonly house: House; readonly route: Route }[] = [
  { ending: '/chat/completions', house: 'openai', route: chatCompletion },
  { ending: '/embeddings', house: 'openai', route: embeddings },
  { ending: '/responses', house: 'openai', route: responses },
  { ending: '/messages', house: 'anthropic', route: messages },
  { ending: ':generateContent', house: 'google', route: generateContent },
  { ending: ':streamGenerateContent', house: 'google', route: streamGenerateContent }
]

/** Google's clients name the model in the path. */
const MODEL_IN_PATH = /\/models\/([^/:]+):/

export async function startProvider(model: Model = callsOnce): Promise<Provider> {
  let ids = 0
  const newId: NewId = prefix => {
    ids += 1
    // Ids have the length of real ids, because some libraries recognise ids by their length.
    return prefix + String(ids).padStart(24, '0')
  }
  const server = createServer((request, response) => {
    // Only requests that no real client sends cause an exception.
    answer(request, response, newId, model).catch(error => fail(response, 400, { error: { message: String(error) } }))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const close = () =>
    new Promise<void>(resolve => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }
}

async function answer(request: IncomingMessage, response: ServerResponse, newId: NewId, model: Model): Promise<void> {
  const path = new URL(String(request.url), 'http://provider').pathname
  const { house, route } = ROUTES.find(({ ending }) => path.endsWith(ending)) ?? { house: 'openai', route: undefined }
  const body = await readBody(request)
  const requestId = newId('req_')
  response.setHeader(house === 'openai' ? 'x-request-id' : 'request-id', requestId)
  const failure = route === undefined ? 404 : failureOf(body.model ?? MODEL_IN_PATH.exec(path)?.[1])
  if (failure !== undefined) fail(response, failure, errorBody(house, failure, requestId))
  else send(response, route!(body, newId, model))
}

async function readBody(request: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString() || '{}')
}

/** The header `retry-after-ms` makes clients retry at once. By default, clients would wait for seconds. */
function fail(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json', 'retry-after-ms': '1' })
  response.end(JSON.stringify(body))
}

function send(response: ServerResponse, reply: Reply): void {
  if ('json' in reply) {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(reply.json))
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  for (const event of reply.events) response.write(eventText(event))
  response.end()
}

function eventText({ event, data }: ServerSentEvent): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data)
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${text}\n\n`
}
