import { LosslessNumber } from 'lossless-json'
import t from 'tap'
import Type from 'typebox'
import { JsonText, type RequestOf, type Route } from '../../../lib/http/route.ts'
import { Admission } from '../../../lib/limits/admission.ts'
import { Gathered } from '../../../lib/mcp/long-result.ts'
import { routeTool } from '../../../lib/mcp/route-tool.ts'
import type { Arguments } from '../../../lib/mcp/tool.ts'
import { traceView } from '../../../lib/mcp/trace-view.ts'
import { parse } from '../../../lib/threads/parsing.ts'
import { writer } from '../../fixtures/database/write-path.ts'
import { answer } from './trace-answer.ts'

const ID = '0af7651916cd43dd8448eb211c80319c'
const TEXT = {
  name: 'do_it',
  title: 'Do it',
  description: 'Does it.',
  annotations: { readOnlyHint: false, openWorldHint: false }
} as const
const Thing = Type.Object({ thing: Type.String() }, { additionalProperties: false })

/** Returns a route that records its parameters, and the route's tool. */
function scene(over: Partial<Route>, view?: typeof traceView, gathered = new Gathered()) {
  const seen: RequestOf<unknown>[] = []
  const admission = new Admission({ requests: 2, bytes: 1000 })
  const route: Route = {
    ...{
      method: 'POST',
      path: '/api/v1/things/:traceId',
      access: 'traces:write',
      summary: 'Do it',
      replies: { 200: Thing }
    },
    handler(request) {
      seen.push(request)
      return { body: { thing: `${admission.bytes} bytes` } }
    },
    ...over
  }
  const means = {
    ingest: { admit: (bytes: number, requests?: number) => admission.admit(bytes, requests) },
    bodies: { parse: async (...[name, body]: Parameters<typeof parse>) => parse(name, body) }
  }
  const tool = routeTool(
    means as Parameters<typeof routeTool>[0],
    route,
    { ...TEXT, examples: [{ traceId: ID }] },
    view
  )
  const request = {
    requestId: 'r1',
    key: writer(),
    headers: { accept: '*/*' },
    localPort: 8787,
    baseUrl: 'http://here',
    signal: new AbortController().signal
  }
  const call = async (args: Arguments, more: { exactArgs?: Arguments; payload?: Uint8Array } = {}) =>
    tool.call({
      args,
      exactArgs: args,
      inexact: more.exactArgs !== undefined,
      payload: undefined,
      request: request as never,
      gathered,
      ...more
    })
  return { tool, call, seen, admission }
}

const query = Type.Object({ limit: Type.Optional(Type.Integer({ minimum: 1 })) }, { additionalProperties: false })
const body = Type.Object({ name: Type.String(), value: Type.Unknown() }, { additionalProperties: false })

t.test("accepts its route's fields as one object, and returns the route's response", async t => {
  const { tool } = scene({ query, replies: { 200: Thing, 201: Thing } }, traceView)
  const { inputSchema, outputSchema, ...rest } = tool.listing
  t.match(inputSchema, {
    type: 'object',
    additionalProperties: false,
    required: ['traceId'],
    examples: [{ traceId: ID }]
  })
  t.strictSame(Object.keys((inputSchema as typeof query).properties), [
    'traceId',
    'limit',
    'detail',
    'spanIds',
    'field',
    'after',
    'offset'
  ])
  const answers = traceView.outputs.flatMap(output => Object.keys((output as { properties: object }).properties))
  const told = Object.keys((outputSchema as { properties: object }).properties)
  for (const field of [...answers, 'error']) t.ok(told.includes(field), `it may respond with ${field}`)
  t.strictSame(rest, TEXT)
  t.equal(tool.scope, 'traces:write')
  t.strictSame(Object.keys((scene({ body }).tool.listing.inputSchema as typeof body).properties), [
    'traceId',
    'name',
    'value'
  ])
})

t.test('a route without a body receives its checked parameters, and the id in lower case', async t => {
  const { call, seen } = scene({ query })
  t.equal(await call({ traceId: ID.toUpperCase(), limit: 3 }), '{"thing":"0 bytes"}')
  t.match(seen, [
    { traceId: ID, query: { limit: 3 }, requestId: 'r1', key: writer(), localPort: 8787, baseUrl: 'http://here' }
  ])
  t.equal(seen[0]?.payload.length, 0)
  const refused: [Arguments, string, RegExp][] = [
    [{}, 'invalid_request', /^traceId: is required$/],
    [{ traceId: 7 }, 'invalid_request', /^traceId: must be a string$/],
    [{ traceId: 'x' }, 'not_found', /no such trace/],
    [{ traceId: ID, limit: 0 }, 'invalid_request', /limit/],
    [{ traceId: ID, other: 1 }, 'invalid_request', /other/]
  ]
  for (const [args, code, message] of refused) await t.rejects(call(args), { code, message }, JSON.stringify(args))
  t.equal(seen.length, 1)
})

t.test('a route with a body receives it exactly, or the text that represents it', async t => {
  const { call, seen } = scene({ body })
  const exact = { traceId: ID, name: 'n', value: [new LosslessNumber('12345678901234567890')] }
  await call({ traceId: ID, name: 'n', value: [1] }, { exactArgs: exact })
  const payload = Buffer.from('{"name":"large"}')
  await call({ traceId: ID }, { payload })
  const bodies = seen.map(request => Buffer.from(request.payload).toString())
  t.strictSame(bodies, ['{"name":"n","value":[12345678901234567890]}', '{"name":"large"}'])
})

t.test('memory is reserved for a body while it is processed, and released whatever the outcome', async t => {
  const { call, admission } = scene({ body, takesBody: true })
  t.equal(await call({ traceId: ID, name: 'n' }), '{"thing":"12 bytes"}')
  t.equal(admission.bytes, 0)
  await t.rejects(call({ traceId: ID, name: 'n'.repeat(1000) }), { code: 'quota_exhausted' })
  const failing = scene({ body, takesBody: true, handler: () => Promise.reject(new Error('away')) })
  await t.rejects(failing.call({ traceId: ID, name: 'n' }), { message: 'away' })
  t.equal(failing.admission.requests, 0)
})

t.test("a message's calls read until they have collected enough; writes are not rejected", async t => {
  const reads = {
    method: 'GET',
    access: 'traces:read',
    handler: () => ({ body: new JsonText('x'.repeat(100)) })
  } as const
  for (const view of [undefined, traceView]) {
    const gathered = new Gathered(500)
    const { call } = scene(reads, view, gathered)
    const full = () => call({ traceId: ID, ...(view && { detail: 'full' }) })
    // Each result counts twice: as structured content and as text.
    for (let i = 0; i < 3; i++) t.equal(await full(), 'x'.repeat(100))
    const message =
      'batch: its results already total 600 bytes, and the limit is 500. Send this call in another message.'
    await t.rejects(full(), { code: 'invalid_request', message })
    t.equal(await scene({ body }, undefined, gathered).call({ traceId: ID, name: 'n' }), '{"thing":"0 bytes"}')
  }
})

t.test('a view shows the response according to its options, long or short', async t => {
  for (const spans of [1, 300]) {
    const whole = answer({ spans })
    const { call, seen } = scene({ handler: () => ({ body: new JsonText(whole) }) }, traceView)
    t.equal(await call({ traceId: ID, detail: 'full' }), whole)
    for (const options of [{}, { detail: 'outline' }, { spanIds: ['0'.repeat(16)] }]) {
      t.equal(await call({ traceId: ID, ...options }), traceView.show(whole, options), JSON.stringify(options))
    }
    t.strictSame(seen, [])
    await t.rejects(call({ traceId: ID, detail: 'half' }), {
      code: 'invalid_request',
      message: /^detail: must be one of/
    })
    await t.rejects(call({ traceId: ID, limit: 1 }), { code: 'invalid_request', message: /limit/ })
  }
})
