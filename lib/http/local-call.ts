/** Calls a route without HTTP, with the values that a request would have. */
import { textWriter } from '../limits/list-writer.ts'
import type { Principal } from '../schema/principal.ts'
import { readPathId } from './path-id.ts'
import { JsonPieces, JsonStream, JsonText, NOBODY } from './route.ts'
import type { RouteTable } from './route-table.ts'

export interface LocalRequest {
  readonly method: string
  readonly url: string
  readonly body?: object | undefined
}

/** Returns the response's body as text. Throws a Refusal if the request is rejected. */
export async function callRoute(
  routes: RouteTable,
  key: Principal,
  { method, url, body }: LocalRequest
): Promise<string> {
  const match = routes.find(method, url)
  if (match === undefined) throw new Error(`no route for ${method} ${url}`)
  const { endpoint, params, querystring } = match
  const idOf = (name: 'traceId' | 'scoreId' | 'spanId') => {
    const text = params[name]
    return text === undefined ? '' : readPathId(name, text)
  }
  const reply = await endpoint.route.handler({
    ...NOBODY,
    requestId: '',
    key,
    traceId: idOf('traceId'),
    scoreId: idOf('scoreId'),
    spanId: idOf('spanId'),
    params,
    query: endpoint.readQuery?.(querystring) ?? {},
    querystring,
    payload: body === undefined ? new Uint8Array() : Buffer.from(JSON.stringify(body)),
    headers: {},
    localPort: 0,
    baseUrl: '',
    signal: new AbortController().signal
  })
  return textOf(reply.body)
}

async function textOf(body: unknown): Promise<string> {
  if (body instanceof JsonText) return body.text
  if (body instanceof JsonPieces) return Buffer.concat(body.pieces).toString()
  if (!(body instanceof JsonStream)) return JSON.stringify(body)
  const parts: Buffer[] = []
  const take = async (part: string) => void parts.push(Buffer.from(part, 'latin1'))
  await body.send(textWriter(take), () => true)
  return Buffer.concat(parts).toString()
}
