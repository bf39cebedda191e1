/** Creates the catalogue's tools from their routes, and get_ingest_schema, which has no route. */
import Type from 'typebox'
import type { App } from '../../lib/app.ts'
import type { Route } from '../../lib/http/route.ts'
import { argumentCheck, asPlainJson, outputSchema, routeTool } from '../../lib/mcp/route-tool.ts'
import type { Tool } from '../../lib/mcp/tool.ts'
import { INGEST_EXAMPLES } from '../../lib/openapi/examples.ts'
import { IngestBody } from '../../lib/schema/input.ts'
import { closed, named } from '../../lib/schema/object.ts'
import { CATALOGUE, INGEST_SCHEMA } from './catalogue.ts'

/** Returns all tools by name. The routes must already be registered. */
export function makeTools(app: App): ReadonlyMap<string, Tool> {
  const fromRoutes = CATALOGUE.map(({ operation, view, ...text }) =>
    routeTool(app, findRoute(app.routes, operation), text, view)
  )
  const tools = new Map([ingestSchemaTool(), ...fromRoutes].map(tool => [tool.listing.name, tool]))
  tools.set(LIST, explained(toolOf(tools, LIST), toolOf(tools, SEARCH)))
  return tools
}

const LIST = 'list_traces'
const SEARCH = 'search_traces'

function toolOf(tools: ReadonlyMap<string, Tool>, name: string): Tool {
  const tool = tools.get(name)
  if (tool === undefined) throw new Error(`the catalogue lacks ${name}`)
  return tool
}

/**
 * Returns the trace list's tool, with the search's hint added to empty outlines. The response of the route itself has
 * no hint, because the specification defines it.
 */
function explained(list: Tool, search: Tool): Tool {
  return {
    ...list,
    async call(call) {
      const result = await list.call(call)
      const { after, before, detail, tag, ...filters } = call.args
      if (typeof result !== 'string' || !isEmptyOutline(result) || after !== undefined || before !== undefined) {
        return result
      }
      const args = { ...filters, ...(tag !== undefined && { tag: [tag] }), limit: 1 }
      const found = await search.call({ ...call, args, exactArgs: args })
      const { hint } = JSON.parse(typeof found === 'string' ? found : found.text)
      return hint === undefined ? result : JSON.stringify({ ...JSON.parse(result), hint })
    }
  }
}

function isEmptyOutline(result: string): boolean {
  if (!result.startsWith('{"detail":"outline"') || !result.includes('"traces":[]')) return false
  return (JSON.parse(result) as { traces: readonly unknown[] }).traces.length === 0
}

function findRoute(routes: readonly Route[], operation: string): Route {
  const route = routes.find(route => route.operation === operation)
  if (route === undefined) throw new Error(`the operation ${operation} must be registered before its tool`)
  return route
}

const NO_ARGUMENTS = closed({})
const Example = Type.Object({}, { description: 'A body that record_trace accepts, except that its ids must be new.' })
const IngestSchema = named('IngestSchema', {
  schema: Type.Object({}, { description: 'JSON Schema, draft 2020-12.' }),
  examples: closed({ minimal: Example, full: Example })
})

function ingestSchemaTool(): Tool {
  const schema = { $schema: 'https://json-schema.org/draft/2020-12/schema', ...IngestBody }
  const text = JSON.stringify({ schema, examples: INGEST_EXAMPLES })
  const checkArguments = argumentCheck(NO_ARGUMENTS)
  return {
    scope: 'traces:write',
    listing: {
      ...INGEST_SCHEMA,
      inputSchema: asPlainJson(NO_ARGUMENTS),
      outputSchema: outputSchema([IngestSchema])
    },
    call({ args }) {
      checkArguments(args)
      return text
    }
  }
}
