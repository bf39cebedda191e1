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
  return new Map([ingestSchemaTool(), ...fromRoutes].map(tool => [tool.listing.name, tool]))
}

function findRoute(routes: readonly Route[], operation: string): Route {
  const route = routes.find(route => route.operation === operation)
  if (route === undefined) throw new Error(`the operation ${operation} must be registered before the tool made of it`)
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
