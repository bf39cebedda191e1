/**
 * Implements the Model Context Protocol: Streamable HTTP, stateless, with JSON responses. Only this file uses the SDK,
 * which does most of the work. Each POST has its own server and transport, because the SDK requires this if there are
 * no sessions. The protocol has two eras. Since version 2026-07-28, each request names its client and version. In
 * earlier versions, a handshake (`initialize`) names the client and version. The SDK distinguishes the eras, and both
 * have the same tools.
 */
import {
  createMcpHandler,
  isInitializeRequest,
  isLegacyRequest,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  SUPPORTED_PROTOCOL_VERSIONS,
  WebStandardStreamableHTTPServerTransport
} from '@modelcontextprotocol/server'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv'
import Type from 'typebox'
import type { Refusal } from '../errors.ts'
import type { Reply } from '../http/route.ts'
import { checker } from '../schema/check.ts'
import { VERSION } from '../version.ts'
import type { Result } from './long-result.ts'
import { calledTools } from './message.ts'
import { bodyOfParts, Splices, show } from './splices.ts'
import type { Resource, ToolListing } from './tool.ts'

type RequestHeaders = NodeJS.Dict<string | string[]>
type MessageId = string | number

/** Tools that a POST may call. */
export interface Toolbox {
  readonly listings: readonly ToolListing[]
  readonly resources: readonly Resource[]
  /** Calls a tool. Resolves to undefined if the tool does not exist. An error fails the whole POST. */
  call(name: string, args: Readonly<Record<string, unknown>>, id: MessageId): Promise<ToolAnswer | undefined>
}

export interface ToolAnswer {
  /** The tool's result, which is a JSON object. */
  readonly result: Result
  readonly isError?: boolean
}

const INFO = { name: 'spoor', title: 'spoor', version: VERSION }
const INSTRUCTIONS =
  'spoor stores traces: records of AI application runs, made of spans (model calls, tool calls and other steps). To ' +
  'record a run, call get_ingest_schema once, then record_trace. To find runs, call list_traces with filters, or ' +
  'search_traces for failures, scores and words; then read one with get_trace. To group failures, call list_errors; ' +
  'for totals, get_usage. To score a run, call add_score. The resource spoor://guide explains which tool answers ' +
  "which question. The available tools depend on the API key's scopes."

/**
 * A validator that all servers share, because each server would otherwise create its own validator, which is slow. The
 * SDK uses the validator only for clients' responses to a server's requests. These servers send no requests, so the
 * validator is never called.
 */
const validator = new AjvJsonSchemaValidator()

/** Answers a message or a batch by calling tools. */
export async function answerWithTools(message: unknown, headers: RequestHeaders, toolbox: Toolbox): Promise<Reply> {
  return (keptRequest(headers) && (await answerPlainCall(message, toolbox))) ?? answerBySdk(message, headers, toolbox)
}

/**
 * Answers a single tool call without the SDK, in the form that the SDK's response would have. Most agent messages are
 * single calls, and the SDK uses about as much CPU for each as PostgreSQL and Node together use for a page of a list.
 * Resolves to undefined if the message is anything else or is invalid. The SDK then answers the message.
 */
async function answerPlainCall(message: unknown, toolbox: Toolbox): Promise<Reply | undefined> {
  const call = readPlainCall(message)
  if (call === undefined) return undefined
  const answer = await toolbox.call(call.name, call.args, call.id)
  if (answer === undefined) return undefined
  const { text, parts } = show(answer.result)
  const head = `{"result":{"content":[{"type":"text","text":${JSON.stringify(text)}}],"structuredContent":`
  const foot = `${answer.isError ? ',"isError":true' : ''}},"jsonrpc":"2.0","id":${JSON.stringify(call.id)}}`
  return { body: bodyOfParts([head, ...parts, foot]) }
}

async function answerBySdk(message: unknown, headers: RequestHeaders, toolbox: Toolbox): Promise<Reply> {
  const fault = faultOfInitialize(message) ?? faultOfRead(message)
  if (fault !== undefined) return refusal(200, ProtocolErrorCode.InvalidParams, fault, idOf(message))
  const splices = new Splices()
  const failures: unknown[] = []
  const createToolServer = () => {
    const server = new Server(INFO, {
      capabilities: { tools: {}, resources: {} },
      instructions: INSTRUCTIONS,
      jsonSchemaValidator: validator
    })
    server.setRequestHandler('tools/list', ({ params }) => {
      if (params?.cursor !== undefined) throw invalid('The list has only one page')
      return { tools: toolbox.listings as never }
    })
    server.setRequestHandler('resources/list', ({ params }) => {
      if (params?.cursor !== undefined) throw invalid('The list has only one page')
      return { resources: toolbox.resources.map(({ text: _, ...listing }) => listing) }
    })
    server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [] }))
    server.setRequestHandler('resources/read', ({ params }) => {
      const resource = toolbox.resources.find(({ uri }) => uri === params.uri)
      if (resource === undefined) throw invalid(`Unknown resource: ${params.uri}`)
      const { uri, mimeType, text } = resource
      return { contents: [{ uri, mimeType, text }] }
    })
    // The handler is set only for calls. The SDK rejects unknown methods itself, with a different status in each era.
    if (calledTools({ value: message }).length > 0) server.fallbackRequestHandler = callTool
    return server
  }
  const callTool: NonNullable<Server['fallbackRequestHandler']> = async ({ method, params, id }) => {
    if (method !== 'tools/call') throw new ProtocolError(ProtocolErrorCode.MethodNotFound, 'Method not found')
    const { name, args } = readCall(params)
    const answer = await toolbox.call(name, args, id).catch(error => {
      failures.push(error)
      throw error
    })
    if (answer === undefined) throw invalid(`Unknown tool: ${name}`)
    const { result, isError } = answer
    const { asString, asObject } = splices.mark(show(result))
    return { content: [{ type: 'text', text: asString }], structuredContent: asObject, ...(isError && { isError }) }
  }
  const { status, text } = await answerPost(createToolServer, message, headers)
  if (failures.length > 0) throw failures[0]
  return { status, body: text === '' ? undefined : bodyOfParts(splices.fill(text)) }
}

/** Returns the response to a body that contains no readable message. */
export function answerUnreadable({ code, message }: Refusal): Reply {
  return refusal(
    400,
    code === 'invalid_json' ? ProtocolErrorCode.ParseError : ProtocolErrorCode.InvalidRequest,
    message
  )
}

function refusal(status: number, code: ProtocolErrorCode, message: string, id: MessageId | null = null): Reply {
  return { status, body: { jsonrpc: '2.0', error: { code, message }, id } }
}

const invalid = (message: string) => new ProtocolError(ProtocolErrorCode.InvalidParams, message)

const initialize = checker(
  Type.Object({
    params: Type.Object({
      protocolVersion: Type.String(),
      capabilities: Type.Object({}),
      clientInfo: Type.Object({ name: Type.String(), version: Type.String() })
    })
  })
)

/**
 * Returns the error in a handshake; undefined if the handshake is valid. The SDK would report such an error as an
 * internal error.
 */
function faultOfInitialize(message: unknown): string | undefined {
  if (!isObject(message) || message.method !== 'initialize' || message.id === undefined) return undefined
  if (isInitializeRequest(message)) return undefined
  return initialize.check(message) ? 'params: are not valid for initialize' : initialize.explain(message)
}

/** Returns the error in a request for a resource, like faultOfInitialize. */
function faultOfRead(message: unknown): string | undefined {
  if (!isObject(message) || message.method !== 'resources/read' || message.id === undefined) return undefined
  const isNamed = isObject(message.params) && typeof message.params.uri === 'string'
  return isNamed ? undefined : 'params.uri: must be a string'
}

/** Returns a request's id, or null if the id is missing or invalid. */
function idOf(message: unknown): MessageId | null {
  const { id } = message as { readonly id?: unknown }
  return typeof id === 'string' || typeof id === 'number' ? id : null
}

/**
 * Reads a call's tool name and arguments without the SDK, which would spend nearly half of the time of each call on
 * validating the call and its result against its own schemas (test/bench/RESULTS.md, "Tools").
 */
function readCall(params: Record<string, unknown> = {}): { name: string; args: Record<string, unknown> } {
  const { name, arguments: args = {} } = params
  if (typeof name !== 'string') throw invalid('params.name: must be a string')
  if (!isObject(args)) throw invalid('params.arguments: must be an object')
  return { name, args }
}

/** Returns the call if it has only a call's fields, or undefined if the SDK must handle the message. */
function readPlainCall(message: unknown) {
  if (!isObject(message) || !hasOnly(message, ['jsonrpc', 'id', 'method', 'params'])) return undefined
  const { jsonrpc, id, method, params } = message
  if (jsonrpc !== '2.0' || method !== 'tools/call' || !isObject(params)) return undefined
  if (typeof id !== 'string' && !Number.isSafeInteger(id)) return undefined
  const { name, arguments: args = {} } = params
  if (!hasOnly(params, ['name', 'arguments']) || typeof name !== 'string' || !isObject(args)) return undefined
  return { id: id as MessageId, name, args }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const hasOnly = (value: object, names: readonly string[]): boolean =>
  Object.keys(value).every(key => names.includes(key))

/** Answers one POST, already parsed, with a new SDK server. A JSON response leaves no streams or timers to close. */
export async function answerPost(
  createServer: () => Server,
  message: unknown,
  headers: RequestHeaders
): Promise<{ status: number; text: string }> {
  const request = requestWith(headers)
  const isLegacy = await isLegacyRequest(request, message)
  const response = await (isLegacy ? answerLegacy : answerModern)(createServer, request, message)
  return { status: response.status, text: await response.text() }
}

/** Answers a message of a protocol version before 2026-07-28. */
async function answerLegacy(createServer: () => Server, request: Request, message: unknown): Promise<Response> {
  const server = createServer()
  // Cancellations are ignored. A cancellation can only refer to a call in the same POST, and the SDK would never answer
  // a cancelled call.
  server.setNotificationHandler('notifications/cancelled', () => {})
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport)
  return transport.handleRequest(request, { parsedBody: message })
}

/** Answers a message of protocol version 2026-07-28 or later. */
async function answerModern(createServer: () => Server, request: Request, message: unknown): Promise<Response> {
  // The SDK would open an endless stream, but this service has no changes to report.
  if ((message as { readonly method?: unknown } | null)?.method === 'subscriptions/listen') {
    const { status, body } = refusal(404, ProtocolErrorCode.MethodNotFound, 'Method not found', idOf(message))
    return Response.json(body, { status: status! })
  }
  return createMcpHandler(createServer, { legacy: 'reject' }).fetch(request, { parsedBody: message })
}

const JSON_TYPE = 'application/json'
const ACCEPT_ALL = `${JSON_TYPE}, text/event-stream`

/**
 * Cached requests by protocol version of the first era. The SDK reads only a request's headers, so each request serves
 * many POSTs.
 */
const requests = new Map(
  [undefined, ...SUPPORTED_PROTOCOL_VERSIONS].map(version => [version, request(ACCEPT_ALL, version)])
)

/**
 * Returns the cached request if the headers have their usual values: a known version, and an Accept header that allows
 * JSON.
 */
function keptRequest({ accept, 'mcp-protocol-version': version }: RequestHeaders): Request | undefined {
  return takesJson(accept) ? requests.get(version?.toString()) : undefined
}

function takesJson(accept: RequestHeaders[string]): boolean {
  return accept === undefined || /application\/(json|\*)|\*\/\*/i.test(String(accept))
}

/**
 * Returns a request with these headers. If the client accepts JSON, the request also accepts streams, as the SDK
 * requires, although the client never gets a stream.
 */
function requestWith(headers: RequestHeaders): Request {
  const { accept, 'mcp-protocol-version': version } = headers
  const told = Object.entries(headers).filter(([name]) => TOLD.includes(name)) as [string, string][]
  return keptRequest(headers) ?? request(takesJson(accept) ? ACCEPT_ALL : String(accept), version?.toString(), told)
}

/** Headers that repeat parts of the message, as the second era requires. */
const TOLD = ['mcp-method', 'mcp-name']

function request(accept: string, version: string | undefined, told: readonly [string, string][] = []): Request {
  const headers = new Headers([['Accept', accept], ['Content-Type', JSON_TYPE], ...told])
  if (version !== undefined) headers.set('Mcp-Protocol-Version', version)
  return new Request('http://localhost/api/mcp', { method: 'POST', headers })
}
