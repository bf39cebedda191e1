/**
 * The Model Context Protocol: Streamable HTTP, stateless, answers in JSON. The SDK does the work; this is the only file
 * that knows it. Each POST has a server and a transport of its own, as the SDK demands where there are no sessions.
 */
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import {
  CancelledNotificationSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  SUPPORTED_PROTOCOL_VERSIONS
} from '@modelcontextprotocol/sdk/types.js'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv'
import type { Refusal } from '../errors.ts'
import { JsonText, type Reply } from '../http/route.ts'
import { VERSION } from '../version.ts'
import { Splices } from './splices.ts'
import type { Listing } from './tool.ts'

type Headers = NodeJS.Dict<string | string[]>
type MessageId = string | number

/** What a POST may do with tools. */
export interface Toolbox {
  /** The tools on offer. */
  readonly listings: readonly Listing[]
  /** Undefined: there is no such tool. What is thrown fails the whole POST. */
  call(name: string, args: Readonly<Record<string, unknown>>, id: MessageId): Promise<ToolAnswer | undefined>
}

export interface ToolAnswer {
  /** A JSON object. */
  readonly text: string
  readonly isError?: boolean
}

const INFO = { name: 'spoor', title: 'spoor', version: VERSION }
const INSTRUCTIONS =
  'spoor keeps traces: records of runs of AI applications, made of spans (model calls, tool calls and other steps). ' +
  'To record a run, call get_ingest_schema once, then record_trace. To find runs, call list_traces with filters, then ' +
  'get_trace for one of them. To judge a run, call add_score. Which of the tools are there depends on the scopes of ' +
  'the API key.'

/** Without it each server would make one, in half a millisecond. None is used: only what clients are asked for is checked. */
const validator = new AjvJsonSchemaValidator()

/** Has the tools answer a message, or a batch of them. */
export async function answerWithTools(message: unknown, headers: Headers, toolbox: Toolbox): Promise<Reply> {
  return (keptRequest(headers) && (await answerPlainCall(message, toolbox))) ?? answerBySdk(message, headers, toolbox)
}

/**
 * Answers a single call of a tool by hand, as the SDK would. It is what agents send all day, and the SDK needs about as
 * much CPU for it as PostgreSQL and node together need for the page of a list. Undefined: the message is something else,
 * or not quite right, and the SDK knows what to say.
 */
async function answerPlainCall(message: unknown, toolbox: Toolbox): Promise<Reply | undefined> {
  const call = readPlainCall(message)
  if (call === undefined) return undefined
  const answer = await toolbox.call(call.name, call.args, call.id)
  if (answer === undefined) return undefined
  const { text, isError } = answer
  const result = `{"content":[{"type":"text","text":${JSON.stringify(text)}}],"structuredContent":${text}${isError ? ',"isError":true' : ''}}`
  return { body: new JsonText(`{"result":${result},"jsonrpc":"2.0","id":${JSON.stringify(call.id)}}`) }
}

async function answerBySdk(message: unknown, headers: Headers, toolbox: Toolbox): Promise<Reply> {
  const splices = new Splices()
  const failures: unknown[] = []
  const server = createServer()
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    if (params?.cursor !== undefined) throw new McpError(ErrorCode.InvalidParams, 'The list has one page only')
    return { tools: toolbox.listings as never }
  })
  server.fallbackRequestHandler = async ({ method, params, id }) => {
    if (method !== 'tools/call') throw new McpError(ErrorCode.MethodNotFound, 'Method not found')
    const { name, args } = readCall(params)
    const answer = await toolbox.call(name, args, id).catch(error => {
      failures.push(error)
      throw error
    })
    if (answer === undefined) throw new McpError(ErrorCode.InvalidParams, `Unknown tool: ${name}`)
    const { text, isError } = answer
    const { asString, asObject } = splices.mark(text)
    return { content: [{ type: 'text', text: asString }], structuredContent: asObject, ...(isError && { isError }) }
  }
  const { status, text } = await answerPost(server, message, headers)
  if (failures.length > 0) throw failures[0]
  return { status, body: text === '' ? undefined : new JsonText(splices.fill(text)) }
}

/** The answer to a body in which no message could be read. */
export function answerUnreadable({ code, message }: Refusal): Reply {
  const error = { code: code === 'invalid_json' ? ErrorCode.ParseError : ErrorCode.InvalidRequest, message }
  return { status: 400, body: { jsonrpc: '2.0', error, id: null } }
}

/**
 * What a call names, read by hand. The SDK would check the call and its result by its own schemas, which takes 0.09 of
 * the 0.22 ms that it needs for a call otherwise.
 */
function readCall(params: Record<string, unknown> = {}): { name: string; args: Record<string, unknown> } {
  const { name, arguments: args = {} } = params
  if (typeof name !== 'string') throw new McpError(ErrorCode.InvalidParams, 'params.name: must be a string')
  if (!isObject(args)) throw new McpError(ErrorCode.InvalidParams, 'params.arguments: must be an object')
  return { name, args }
}

/** A call that has the fields of its kind and no others; undefined where the SDK must look at it. */
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

/** A server that offers tools and knows none yet. */
function createServer(): Server {
  const options = { capabilities: { tools: {} }, instructions: INSTRUCTIONS, jsonSchemaValidator: validator }
  return new Server(INFO, options)
}

/**
 * Has a server of the SDK, made for this, answer one POST whose message was parsed already. Nothing needs closing
 * afterwards: an answer in JSON leaves neither streams nor timers.
 */
export async function answerPost(
  server: Server,
  message: unknown,
  headers: Headers
): Promise<{ status: number; text: string }> {
  // The answer is not sent before it is complete, so a cancellation can only be for a call of the same POST, which
  // would then never be answered.
  server.setNotificationHandler(CancelledNotificationSchema, () => {})
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport)
  const response = await transport.handleRequest(requestWith(headers), { parsedBody: message })
  return { status: response.status, text: await response.text() }
}

const JSON_TYPE = 'application/json'
const ACCEPT_ALL = `${JSON_TYPE}, text/event-stream`

/** The requests of versions that the SDK knows. It looks at nothing but the headers, so one serves many POSTs. */
const requests = new Map(
  [undefined, ...SUPPORTED_PROTOCOL_VERSIONS].map(version => [version, request(ACCEPT_ALL, version)])
)

/** The request that stands for these headers where they are the usual ones: a known version, and JSON is welcome. */
function keptRequest({ accept, 'mcp-protocol-version': version }: Headers): Request | undefined {
  return takesJson(accept) ? requests.get(version?.toString()) : undefined
}

function takesJson(accept: Headers[string]): boolean {
  return accept === undefined || /application\/(json|\*)|\*\/\*/i.test(String(accept))
}

/** The transport is told that a client that takes JSON takes streams too: it will get no stream. */
function requestWith(headers: Headers): Request {
  const { accept, 'mcp-protocol-version': version } = headers
  return keptRequest(headers) ?? request(takesJson(accept) ? ACCEPT_ALL : String(accept), version?.toString())
}

function request(accept: string, version: string | undefined): Request {
  const headers = {
    Accept: accept,
    'Content-Type': JSON_TYPE,
    ...(version !== undefined && { 'Mcp-Protocol-Version': version })
  }
  return new Request('http://localhost/api/mcp', { method: 'POST', headers })
}
