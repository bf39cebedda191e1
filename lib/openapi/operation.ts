/** Describes a route as an operation in the document. */
import type { Route } from '../http/route.ts'
import { MAX_BODY_BYTES } from '../schema/input.ts'
import { type Components, replyHeaders, type SchemaJson } from './components.ts'
import { errorResponses } from './errors.ts'
import { EXAMPLES, PATH_TRACE_IDS, SCORE_ID, SESSION_ID, TRACE_ID } from './examples.ts'

/**
 * Groups of operations on the docs page, in order. An operation belongs to the first group whose regular expression
 * matches the path.
 */
export const TAGS = [
  {
    name: 'Traces',
    paths: /\/(traces(?!.*\/scores)|deletions|search$)/,
    description: 'Runs of an application, made of spans and recorded either complete or while in progress.'
  },
  { name: 'Scores', paths: /\/scores/, description: 'Evaluations of a trace, added after the run.' },
  {
    name: 'Spans and failures',
    paths: /\/(spans|errors)$/,
    description: 'Individual steps of all traces, and grouped failures.'
  },
  {
    name: 'Sessions and users',
    paths: /\/(sessions|users)/,
    description: 'Totals for the traces of a session or user.'
  },
  {
    name: 'Project',
    paths: /\/(key|project)$/,
    description: 'The API key used for the request, and its project.'
  },
  { name: 'Service', paths: /^/, description: 'Information about the service. These operations need no key.' }
]

const STATUS_WORDS: Readonly<Record<number, string>> = { 200: 'Done.', 201: 'Stored.' }

const PATH_PARAMETERS: Readonly<Record<string, SchemaJson>> = {
  traceId: pathId(32, "The id of a trace in the key's project", TRACE_ID),
  scoreId: pathId(16, 'The id of a score on this trace', SCORE_ID),
  sessionId: {
    in: 'path',
    required: true,
    description: 'The id of a session, percent-encoded (including `/` as `%2F`). An unknown id returns 404.',
    schema: { type: 'string', minLength: 1 },
    example: SESSION_ID
  }
}

/** Converts `/traces/:traceId` to `/traces/{traceId}`. */
export function templateOf({ path }: Route): string {
  return path.replace(/:(\w+)/g, '{$1}')
}

export function describeOperation(route: Route, components: Components): SchemaJson {
  const { operation, access, path, summary, description, errors: _, body, query } = route
  const isPublic = access === 'public'
  const scope = isPublic || access === 'key' ? undefined : `Requires the scope \`${access}\`.`
  const parameters = [...pathParameters(route, components), ...queryParameters(query, components)]
  return {
    operationId: operation,
    tags: [TAGS.find(tag => tag.paths.test(path))?.name],
    summary,
    description: [description, scope].filter(part => part !== undefined).join('\n\n'),
    security: isPublic ? [] : [{ apiKey: [] }],
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && { requestBody: describeBody(route, components) }),
    responses: { ...successResponses(route, components), ...errorResponses(route, components) }
  }
}

function pathId(length: number, what: string, example: string): SchemaJson {
  return {
    in: 'path',
    required: true,
    description: `${what}: ${length} hexadecimal characters in either case; anything else returns 404.`,
    schema: { type: 'string', pattern: `^[0-9a-fA-F]{${length}}$` },
    example
  }
}

function pathParameters({ path, operation = '' }: Route, components: Components): SchemaJson[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => {
    const parameter = { name, ...PATH_PARAMETERS[name] }
    const example = name === 'traceId' ? PATH_TRACE_IDS[operation] : undefined
    return example === undefined ? { ...components.add('parameters', name, parameter) } : { ...parameter, example }
  })
}

function queryParameters(query: Route['query'], components: Components): SchemaJson[] {
  return Object.entries(query?.properties ?? {}).map(([name, property]) => {
    const { description, ...schema } = components.schema(property)
    const required = query?.required?.includes(name) ?? false
    return { name, in: 'query', ...(required && { required }), description, schema }
  })
}

function describeBody(route: Route, components: Components): SchemaJson {
  const { operation = '', body, binary, maxBodyBytes = MAX_BODY_BYTES } = route
  const examples = Object.entries(EXAMPLES[operation]?.body ?? {}).map(([name, value]) => [name, { value }])
  return {
    required: true,
    description:
      `At most ${maxBodyBytes} bytes. May be sent compressed, with \`Content-Encoding: gzip\`, \`deflate\` or ` +
      '`br`; the limit applies to the decoded body.',
    content: {
      'application/json': { schema: components.schema(body!), examples: Object.fromEntries(examples) },
      ...(binary && describeBinary(binary.type, binary.body))
    }
  }
}

/** Describes a binary body, which has a description but no schema. */
function describeBinary(type: string, description: string): SchemaJson {
  return { [type]: { schema: { description } } }
}

function describeLinks(links: NonNullable<Route['links']>): SchemaJson {
  return Object.fromEntries(
    Object.entries(links).map(([operationId, pointers]) => {
      const parameters = Object.entries(pointers).map(([name, pointer]) => [name, `$response.body#${pointer}`])
      return [operationId, { operationId, parameters: Object.fromEntries(parameters) }]
    })
  )
}

function successResponses(route: Route, components: Components): SchemaJson {
  const { operation = '', replies, outcomes = {}, headers, binary, links } = route
  const examples = EXAMPLES[operation]?.replies
  const statuses = new Set([...Object.keys(replies), ...Object.keys(outcomes)].map(Number))
  return Object.fromEntries(
    [...statuses].map(status => {
      const schema = replies[status] && components.schema(replies[status])
      const example = examples?.[status]
      const response = {
        description: outcomes[status] ?? STATUS_WORDS[status],
        headers: replyHeaders(headers, components),
        ...(schema && {
          content: {
            'application/json': { schema, ...(example !== undefined && { example }) },
            ...(binary && describeBinary(binary.type, binary.reply))
          },
          ...(links && { links: describeLinks(links) })
        })
      }
      return [status, response]
    })
  )
}
