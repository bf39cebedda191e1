/**
 * The Model Context Protocol: Streamable HTTP, stateless, answers in JSON. The SDK does the work; this is the only file
 * that knows it. Each POST has a server and a transport of its own, as the SDK demands where there are no sessions.
 */
import { randomBytes } from 'node:crypto'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import {
  CallToolRequestSchema,
  CancelledNotificationSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  RequestSchema
} from '@modelcontextprotocol/sdk/types.js'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv'
import { JsonText, type Reply } from '../app.ts'
import type { Refusal } from '../errors.ts'
import { VERSION } from '../version.ts'
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

/** Compiles nothing before it is asked to, which needs a server that asks its client for something. */
const validator = new AjvJsonSchemaValidator()

/** `tools/call` with any parameters: the SDK checks them once more, and refuses them then as the protocol says. */
const AnyCallSchema = RequestSchema.extend({ method: CallToolRequestSchema.shape.method })

/** Has the tools answer a message, or a batch of them. */
export async function answerWithTools(message: unknown, headers: Headers, toolbox: Toolbox): Promise<Reply> {
  const splices = new Splices()
  const failures: unknown[] = []
  const server = createServer()
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    if (params?.cursor !== undefined) throw new McpError(ErrorCode.InvalidParams, 'The list has one page only')
    return { tools: toolbox.listings as never }
  })
  server.setRequestHandler(AnyCallSchema, async ({ params }, { requestId }) => {
    const { name, arguments: args = {} } = params as { name: string; arguments?: Record<string, unknown> }
    const answer = await toolbox.call(name, args, requestId).catch(error => {
      failures.push(error)
      throw error
    })
    if (answer === undefined) throw new McpError(ErrorCode.InvalidParams, `Unknown tool: ${name}`)
    const { text, isError } = answer
    const structuredContent = splices.stand(text)
    return { content: [{ type: 'text', text }], structuredContent, ...(isError && { isError }) }
  })
  const { status, text } = await answerPost(server, message, headers)
  if (failures.length > 0) throw failures[0]
  return { status, body: text === '' ? undefined : new JsonText(splices.fill(text)) }
}

/** The answer to a body in which no message could be read. */
export function answerUnreadable({ code, message }: Refusal): Reply {
  const error = { code: code === 'invalid_json' ? ErrorCode.ParseError : ErrorCode.InvalidRequest, message }
  return { status: 400, body: { jsonrpc: '2.0', error, id: null } }
}

/** A server that offers tools and knows none yet. */
function createServer(): Server {
  const options = { capabilities: { tools: {} }, instructions: INSTRUCTIONS, jsonSchemaValidator: validator }
  return new Server(INFO, options)
}

/** Has a server of the SDK answer one POST, whose message was parsed already. */
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
  try {
    const request = new Request(ENDPOINT, { method: 'POST', headers: transportHeaders(headers) })
    const response = await transport.handleRequest(request, { parsedBody: message })
    return { status: response.status, text: await response.text() }
  } finally {
    await transport.close()
  }
}

/** The transport wants one; nothing looks at it. */
const ENDPOINT = 'http://localhost/api/mcp'
const JSON_TYPE = 'application/json'
const ACCEPT_ALL = `${JSON_TYPE}, text/event-stream`

/** What the transport looks at. It is told that a client that takes JSON takes streams too, since it gets no stream. */
function transportHeaders({ accept, 'mcp-protocol-version': version }: Headers): Record<string, string> {
  const takesJson = accept === undefined || /application\/(json|\*)|\*\/\*/i.test(String(accept))
  return {
    Accept: takesJson ? ACCEPT_ALL : String(accept),
    'Content-Type': JSON_TYPE,
    ...(version !== undefined && { 'Mcp-Protocol-Version': String(version) })
  }
}

/** Stands in an answer for JSON text that is there already; nobody outside this process knows it. */
const MARK = randomBytes(16).toString('hex')
const MARKS = new RegExp(`\\{"${MARK}":(\\d+)\\}`, 'g')

/**
 * JSON texts that become part of an answer as they are. Parsing them only for the SDK to serialise them again would
 * change numbers that a double cannot hold, and takes longer than all else that the protocol needs.
 */
class Splices {
  readonly #texts: string[] = []

  /** A small object to stand for a text until the answer is filled. */
  stand(text: string): Record<string, number> {
    return { [MARK]: this.#texts.push(text) - 1 }
  }

  fill(answer: string): string {
    return answer.replace(MARKS, (_, index: string) => this.#texts[Number(index)]!)
  }
}
