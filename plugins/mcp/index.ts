/**
 * Model Context Protocol endpoint, which offers the API's operations as tools, and a guide to them. Register this
 * plugin after the plugins whose routes become tools.
 */

import type { App } from '../../lib/app.ts'
import { nameCommands } from '../../lib/command-names.ts'
import { Refusal } from '../../lib/errors.ts'
import { envelope } from '../../lib/http/reply.ts'
import { Gathered } from '../../lib/mcp/long-result.ts'
import { bodyOf, calledTools, exactArguments, readMessage } from '../../lib/mcp/message.ts'
import { answerPreflight, originGuard } from '../../lib/mcp/origin.ts'
import type { ToolAnswer } from '../../lib/mcp/protocol.ts'
import type { Tool, ToolCall } from '../../lib/mcp/tool.ts'
import type { Principal } from '../../lib/schema/principal.ts'
import { guideOf } from './guide.ts'
import { makeTools } from './tools.ts'

type Tools = ReadonlyMap<unknown, Tool>

const PATH = '/api/mcp'

/**
 * Loads the SDK with the first message, because loading takes 90 ms of CPU time and many servers never receive a
 * message.
 */
const loadProtocol = () => import('../../lib/mcp/protocol.ts')

export default function mcp(app: App): void {
  const tools: Tools = makeTools(app)
  const guard = originGuard(app.config)
  const { command } = app.config

  app.route({
    method: 'POST',
    path: PATH,
    access: 'key',
    guard,
    summary: 'Speak the Model Context Protocol',
    takesBody: true,
    replies: {},
    async handler(request) {
      const { projectId } = request.key
      const { answerUnreadable, answerWithTools } = await loadProtocol()
      const message = await readMessage(request.payload, bytes => app.bodies.parse('message', bytes, projectId))
      if (message instanceof Refusal) return answerUnreadable(message)
      refuseOtherScopes(tools, calledTools(message), request.key)
      const { inexact } = message
      const gathered = new Gathered()
      const offered = [...tools.values()].filter(tool => mayCall(request.key, tool))
      return answerWithTools(message.value, request.headers, {
        listings: offered.map(tool => tool.listing),
        get resources() {
          return [guideOf(offered)]
        },
        async call(name, args, id) {
          const exactArgs = (inexact && exactArguments(message, id)) || args
          const tool = tools.get(name)
          const payload = bodyOf(message, name, args)
          return tool && answerCall(tool, { args, exactArgs, inexact, payload, request, gathered }, command)
        }
      })
    }
  })

  app.route({
    method: 'OPTIONS',
    path: PATH,
    access: 'public',
    guard,
    summary: 'Answer a CORS preflight request for the MCP endpoint',
    replies: {},
    handler: answerPreflight
  })
}

const mayCall = (key: Principal, tool: Tool): boolean => key.scopes.includes(tool.scope)

/** If the key lacks the scope of a requested tool, rejects the whole message before executing any part of it. */
function refuseOtherScopes(tools: Tools, names: readonly unknown[], key: Principal): void {
  for (const name of names) {
    const tool = tools.get(name)
    if (tool !== undefined && !mayCall(key, tool)) {
      throw new Refusal('insufficient_scope', `This key lacks the scope ${tool.scope}.`)
    }
  }
}

/** Calls a tool. HTTP 4xx errors become results that the agent reads; any other error fails the request. */
async function answerCall(tool: Tool, call: ToolCall, command: string): Promise<ToolAnswer> {
  try {
    return { result: await tool.call(call) }
  } catch (error) {
    if (!(error instanceof Refusal) || error.status >= 500) throw error
    const message = nameCommands(error.message, command)
    return { result: envelope(error.code, message, call.request.requestId), isError: true }
  }
}
