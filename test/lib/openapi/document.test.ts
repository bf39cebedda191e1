import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import Type from 'typebox'
import { ERROR_CODES, ERRORS, type ErrorCode } from '../../../lib/errors.ts'
import type { Route } from '../../../lib/http/route.ts'
import { describeApi } from '../../../lib/openapi/document.ts'
import { errorCodesOf } from '../../../lib/openapi/errors.ts'
import { EXAMPLES, SESSION_ID } from '../../../lib/openapi/examples.ts'
import { templateOf } from '../../../lib/openapi/operation.ts'
import { closed, named } from '../../../lib/schema/object.ts'
import { testService } from '../../fixtures/service/service.ts'

const OPTIONS = { baseUrl: 'http://127.0.0.1:8787', keyPrefix: 'spoor' }

/** The document as clients get it. */
// biome-ignore lint/suspicious/noExplicitAny: see above.
const describe = (routes: readonly Route[]): any => JSON.parse(JSON.stringify(describeApi(routes, OPTIONS)))

const route = (more: Partial<Route>): Route => ({
  method: 'GET',
  path: '/api/v1/test',
  operation: 'test',
  access: 'public',
  summary: 'Test',
  replies: {},
  handler: () => ({}),
  ...more
})

t.test('the document of the service', async t => {
  const { call, app } = await testService(t)
  const document = describe(app.routes)
  const documented = app.routes.flatMap(route =>
    route.operation === undefined ? [] : { ...route, operation: route.operation }
  )
  const operationOf = (route: Route) => document.paths[templateOf(route)][route.method.toLowerCase()]

  t.test('has every operation in the index, under the same name', async t => {
    const { endpoints } = (await call('GET', '/api/v1')).body
    const listed = documented.map(route => [operationOf(route).operationId, `${route.method} ${templateOf(route)}`])
    t.same(endpoints, Object.fromEntries(listed))
    t.match(endpoints, {
      recordTrace: 'POST /api/v1/traces',
      listTraces: 'GET /api/v1/traces',
      getTrace: 'GET /api/v1/traces/{traceId}',
      patchTraceMetadata: 'PATCH /api/v1/traces/{traceId}',
      deleteTrace: 'DELETE /api/v1/traces/{traceId}',
      getProject: 'GET /api/v1/project'
    })
  })

  t.test('has every error code, with its status', async t => {
    t.same(document.components.schemas.ErrorBody.properties.error.properties.code.enum, ERROR_CODES)
    for (const code of ERROR_CODES) {
      t.match(document.info.description, `| \`${code}\` | ${ERRORS[code].status} |`, code)
      // This code belongs to no operation, because it states that the operation does not exist.
      if (code === 'method_not_allowed') continue
      t.ok(documented.flatMap(errorCodesOf).includes(code), `${code} is an error of some operation`)
    }
  })

  t.test('has every error of each operation under its status, with an example', async t => {
    for (const route of documented) {
      for (const code of errorCodesOf(route)) {
        const { $ref } = operationOf(route).responses[ERRORS[code].status]
        const response = document.components.responses[$ref.split('/').at(-1)]
        const { examples } = response.content['application/json']
        t.equal(examples[code].value.error.code, code, `${route.operation} ${code}`)
      }
    }
  })

  t.test('has the errors that the specification lists for each operation', async t => {
    const common: ErrorCode[] = ['invalid_api_key', 'internal_error', 'not_configured']
    const body: ErrorCode[] = ['invalid_json', 'payload_too_large', 'quota_exhausted']
    const streaming: ErrorCode[] = [
      ...body,
      'invalid_trace',
      'forbidden',
      'not_found',
      'trace_finished',
      'span_conflict'
    ]
    const listed: Record<string, ErrorCode[]> = {
      getKey: [],
      getProject: ['insufficient_scope'],
      recordTrace: [...body, 'invalid_trace', 'insufficient_scope', 'trial_limit_reached', 'trace_id_conflict'],
      appendSpans: ['insufficient_scope', ...streaming],
      endTrace: ['insufficient_scope', ...streaming],
      listTraces: ['invalid_request', 'insufficient_scope'],
      getTrace: ['insufficient_scope', 'not_found'],
      patchTraceMetadata: [...body, 'invalid_request', 'insufficient_scope', 'not_found'],
      deleteTrace: ['insufficient_scope', 'not_found'],
      addScore: [...body, 'invalid_request', 'insufficient_scope', 'not_found', 'conflict'],
      listTraceScores: ['insufficient_scope', 'not_found'],
      deleteScore: ['insufficient_scope', 'not_found'],
      listScores: ['invalid_request', 'insufficient_scope'],
      listSpans: ['invalid_request', 'insufficient_scope'],
      listErrors: ['invalid_request', 'insufficient_scope'],
      searchTraces: ['invalid_request', 'insufficient_scope']
    }
    for (const [operation, codes] of Object.entries(listed)) {
      const found = errorCodesOf(documented.find(route => route.operation === operation)!)
      for (const code of [...common, ...codes]) t.ok(found.includes(code), `${operation} ${code}`)
    }
  })

  t.test('states who may call which operation', async t => {
    for (const route of documented) {
      const { security, description, responses } = operationOf(route)
      t.same(security, route.access === 'public' ? [] : [{ apiKey: [] }], route.operation)
      if (route.access === 'public' || route.access === 'key') continue
      t.match(description, `Requires the scope \`${route.access}\`.`, route.operation)
      t.ok(responses[401] && responses[403], route.operation)
    }
  })

  t.test('has the parameters of each operation, with their rules', async t => {
    const parameters = document.paths['/api/v1/traces'].get.parameters
    const find = (name: string) => parameters.find((parameter: { name: string }) => parameter.name === name)
    t.match(find('limit'), { in: 'query', schema: { type: 'integer', minimum: 1, maximum: 200, default: 50 } })
    t.same(find('sort').schema.enum, ['newest', 'slowest', 'costliest'])
    for (const route of documented) {
      const names = (operationOf(route).parameters ?? []).map(
        (parameter: { name?: string; $ref?: string }) => parameter.name ?? parameter.$ref?.split('/').at(-1)
      )
      const expected = [...route.path.matchAll(/:(\w+)/g)].map(match => match[1])
      t.same(names, [...expected, ...Object.keys(route.query?.properties ?? {})], route.operation)
    }
    for (const parameter of parameters) t.ok(parameter.description, parameter.name)
  })

  t.test(
    'has an example, accepted by its schema, for every body and every response of an operation with a key',
    async t => {
      const ajv = new Ajv2020({ strict: false, validateFormats: false })
      for (const { operation, access, body, replies } of documented) {
        const { body: bodies = {}, replies: answers = {} } = EXAMPLES[operation] ?? {}
        t.equal(Object.keys(bodies).length > 0, body !== undefined, `${operation} accepts a body`)
        for (const [name, value] of Object.entries(bodies)) {
          t.ok(ajv.validate(JSON.parse(JSON.stringify(body)), value), `${operation} ${name}: ${ajv.errorsText()}`)
        }
        if (access !== 'public') t.same(Object.keys(answers), Object.keys(replies), operation)
        for (const [status, value] of Object.entries(answers)) {
          const schema = JSON.parse(JSON.stringify(replies[Number(status)]))
          t.ok(ajv.validate(schema, value), `${operation} ${status}: ${ajv.errorsText()}`)
        }
      }
      const operations = new Set(documented.map(route => route.operation))
      t.ok(
        Object.keys(EXAMPLES).every(operation => operations.has(operation)),
        'every example belongs to an operation'
      )
    }
  )

  t.test('has request examples that the service accepts', async t => {
    const send = async (operation: string, path: string) => {
      for (const [name, body] of Object.entries(EXAMPLES[operation]?.body ?? {})) {
        const { status, text } = await call(operation === 'patchTraceMetadata' ? 'PATCH' : 'POST', path, { body })
        t.ok(status < 300, `${operation} ${name}: ${status} ${text}`)
      }
    }
    const { running, full } = EXAMPLES.recordTrace!.body as Record<string, { trace: { id: string } }>
    await send('recordTrace', '/api/v1/traces')
    await send('appendSpans', `/api/v1/traces/${running?.trace.id}/spans`)
    await send('endTrace', `/api/v1/traces/${running?.trace.id}/end`)
    await send('patchTraceMetadata', `/api/v1/traces/${full?.trace.id}`)
    await send('addScore', `/api/v1/traces/${full?.trace.id}/scores`)
  })

  t.test('gives client generators no name twice', async t => {
    const names = Object.entries(document.components.schemas).flatMap(([name, schema]) => [
      name,
      ...inner(name, schema)
    ])
    t.same(
      names.filter((name, i) => names.indexOf(name) !== i),
      []
    )
  })

  t.test('states that free JSON objects may contain anything', async t => {
    for (const { path, value } of parts(document)) {
      if (value.type !== 'object' || path.includes('examples')) continue
      t.ok('properties' in value || 'additionalProperties' in value, path)
      t.not(JSON.stringify(value.properties), '{}', path)
    }
    const free = { type: 'object', additionalProperties: true }
    t.match(document.components.schemas.TraceInput.properties.metadata, free)
    t.match(document.components.schemas.Trace.properties.metadata, free)
  })

  t.test('has no defaults in requests, because generators would require the field', async t => {
    const { schemas } = document.components
    for (const { path, value } of parts(schemas)) t.notOk('default' in value, path)
    t.match(schemas.SpanInput.properties.kind.description, '`custom`')
    t.match(schemas.SpanInput.properties.status.description, '`unset`')
    t.match(schemas.EndBody.properties.status.description, '`unset`')
  })

  t.test('states that a parameter may not be empty', async t => {
    for (const { query } of documented) {
      for (const [name, { type, enum: words, pattern, format, minLength }] of Object.entries<Json>(
        JSON.parse(JSON.stringify(query?.properties ?? {}))
      )) {
        const isText = type === 'string' && !words && !pattern && !format
        if (isText) t.equal(minLength, 1, name)
      }
    }
  })

  t.test('distinguishes the three kinds of score by their data type', async t => {
    const { schemas } = document.components
    t.same(schemas.ScoreInput.oneOf, [
      { $ref: '#/components/schemas/NumericScoreInput' },
      { $ref: '#/components/schemas/CategoricalScoreInput' },
      { $ref: '#/components/schemas/BooleanScoreInput' }
    ])
    t.same(schemas.ScoreInput.discriminator, {
      propertyName: 'dataType',
      mapping: {
        numeric: '#/components/schemas/NumericScoreInput',
        categorical: '#/components/schemas/CategoricalScoreInput',
        boolean: '#/components/schemas/BooleanScoreInput'
      }
    })
    t.match(schemas.NumericScoreInput.properties, { dataType: { const: 'numeric' }, value: { type: 'number' } })
    t.match(schemas.CategoricalScoreInput.properties.value, { type: 'string', maxLength: 200 })
    t.match(schemas.BooleanScoreInput.properties.value, { type: 'boolean' })
  })

  t.test('has one error per status, and states the codes of each operation', async t => {
    const statuses = [...new Set(documented.flatMap(errorCodesOf).map(code => ERRORS[code].status))]
    // Routes with a binary encoding have their own errors, in both encodings.
    const shared = Object.keys(document.components.responses).filter(name => !name.endsWith('OfExport'))
    t.equal(shared.length, statuses.length)
    for (const route of documented) {
      const codes = errorCodesOf(route)
      for (const status of new Set(codes.map(code => ERRORS[code].status))) {
        const { description } = operationOf(route).responses[status]
        const said = [...description.matchAll(/^`(\w+)`:/gm)].map(match => match[1])
        t.same(
          said,
          codes.filter(code => ERRORS[code].status === status),
          `${route.operation} ${status}`
        )
      }
    }
  })

  t.test('links recorded and listed data to where they can be read', async t => {
    for (const route of documented) {
      for (const status of Object.keys(route.replies)) {
        const { links = {} } = operationOf(route).responses[status]
        for (const [name, { operationId, parameters }] of Object.entries<Json>(links)) {
          const target = documented.find(({ operation }) => operation === operationId)!
          t.same(
            Object.keys(parameters),
            [...target.path.matchAll(/:(\w+)/g)].map(match => match[1]),
            name
          )
          for (const [parameter, expression] of Object.entries<string>(parameters)) {
            const [, pointer = ''] = expression.match(/^\$response\.body#(.*)$/) ?? []
            const id = at(EXAMPLES[route.operation]?.replies[Number(status)], pointer)
            t.match(id, parameter === 'sessionId' ? SESSION_ID : /^[0-9a-f]{32}$/, expression)
          }
        }
      }
    }
    const linksOf = (operation: string, status: number) =>
      Object.keys(operationOf(documented.find(route => route.operation === operation)!).responses[status].links)
    t.same(linksOf('recordTrace', 201), ['getTrace'])
    t.same(linksOf('recordTrace', 200), ['getTrace'])
    t.same(linksOf('listTraces', 200), ['getTrace'])
  })

  t.test('has examples that can be sent in sequence', async t => {
    const ids = Object.values(EXAMPLES.recordTrace!.body!).map(body => (body as { trace: { id: string } }).trace.id)
    t.equal(new Set(ids).size, 3)
  })
})

// biome-ignore lint/suspicious/noExplicitAny: see above.
type Json = any

/** Yields every object in a part of the document, with its path. */
function* parts(value: Json, path = '#'): Generator<{ path: string; value: Json }> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield { path, value }
  for (const [name, part] of Object.entries(value)) yield* parts(part, `${path}/${name}`)
}

/**
 * Returns the names that generators create for schemas within a component: the component's name and the member's name.
 */
function inner(name: string, schema: Json): string[] {
  return Object.entries<Json>(schema.properties ?? {}).flatMap(([member, part]) => {
    const own = name + member.charAt(0).toUpperCase() + member.slice(1)
    const isNamed = part.type === 'object' || part.enum !== undefined || (part.anyOf ?? part.oneOf) !== undefined
    const item = part.items?.$ref === undefined && part.items?.enum !== undefined ? [`${own}Item`] : []
    return [...(isNamed ? [own] : []), ...item, ...inner(own, part)]
  })
}

/** Resolves a JSON pointer. */
function at(value: Json, pointer: string): Json {
  return pointer
    .split('/')
    .slice(1)
    .reduce((part, step) => part?.[step], value)
}

t.test('a named schema occurs once, and is referred to', async t => {
  const Inner = named('Inner', { text: Type.String() })
  const replies = { 200: named('Outer', { one: Inner, many: Type.Array(Inner), plain: closed({ inner: Inner }) }) }
  const { paths, components } = describe([route({ replies })])
  const ref = { $ref: '#/components/schemas/Inner' }
  t.same(paths['/api/v1/test'].get.responses[200].content['application/json'].schema, {
    $ref: '#/components/schemas/Outer'
  })
  t.match(components.schemas.Outer.properties, {
    one: ref,
    many: { items: ref },
    plain: { properties: { inner: ref }, additionalProperties: false }
  })
  t.same(components.schemas.Inner, {
    type: 'object',
    required: ['text'],
    properties: { text: { type: 'string' } },
    additionalProperties: false
  })
})

t.test('two schemas with the same name are an error', async t => {
  const replies = {
    200: named('Same', { text: Type.String() }),
    201: named('Same', { text: Type.Number() })
  }
  t.throws(() => describe([route({ replies })]), { message: 'Two schemas in the OpenAPI document are named Same' })
})

t.test('null and enumerations have the form that generators read', async t => {
  const properties = {
    count: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], { description: 'A count.' }),
    value: Type.Union([Type.Integer(), Type.String()]),
    kind: Type.Enum(['a', 'b'])
  }
  const { paths } = describe([route({ replies: { 200: closed(properties) } })])
  t.same(paths['/api/v1/test'].get.responses[200].content['application/json'].schema.properties, {
    count: { type: ['integer', 'null'], minimum: 0, description: 'A count.' },
    value: { anyOf: [{ type: 'integer' }, { type: 'string' }] },
    kind: { type: 'string', enum: ['a', 'b'] }
  })
})

t.test('a route without an operation is not listed', async t => {
  const { operation: _, ...silent } = route({})
  t.same(describe([silent]).paths, {})
})
