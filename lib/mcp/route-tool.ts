/**
 * Creates tools from routes. A tool takes its route's fields (path ids, query parameters and body) as one object,
 * validates the fields by the route's rules, and calls the route's handler, so HTTP and tools behave identically.
 */
import { setImmediate as turn } from 'node:timers/promises'
import Type, { type TObject, type TProperties, type TSchema } from 'typebox'
import { Refusal } from '../errors.ts'
import { readPathId } from '../http/path-id.ts'
import { queryCheck } from '../http/query.ts'
import { isRead, JsonPieces, JsonStream, JsonText, NOBODY, type RequestOf, type Route } from '../http/route.ts'
import type { Admits } from '../limits/admission.ts'
import { type ListWriter, textWriter } from '../limits/list-writer.ts'
import { SharedGate } from '../limits/shared-gate.ts'
import { Slices } from '../limits/slices.ts'
import { checker } from '../schema/check.ts'
import { ErrorBody } from '../schema/error-body.ts'
import { SpanId, TraceId } from '../schema/input.ts'
import type { Scope } from '../schema/scopes.ts'
import { fieldsOf } from '../schema/variants.ts'
import { stringifyExact } from '../trace/json/exact-json.ts'
import { pairOf } from '../trace/text-pair.ts'
import { MAX_TEXT_BYTES, type Result, shortResultText } from './long-result.ts'
import { SMALL_BYTES } from './message.ts'
import type { Annotations, Arguments, Tool, ToolCall, ToolView } from './tool.ts'
import { wellFormed, wellFormedBytes } from './well-formed.ts'

/** A tool's description. Its schemas come from the route. */
export interface ToolText {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly annotations: Annotations
  readonly examples?: readonly Arguments[]
}

/**
 * Maximum number of route responses converted to tool results at a time. All of these responses are in memory, and may
 * be large.
 */
const VIEWS = { share: 3, capacity: 6 }

type PathId = 'traceId' | 'scoreId'
const PATH_IDS = { traceId: TraceId, scoreId: SpanId }
const NO_PARAMETERS = Type.Object({}, { additionalProperties: false })

/** Resources that tools use: capacity for bodies, and threads that convert long responses to results. */
export interface ToolMeans {
  readonly ingest: Admits
  readonly bodies: {
    parse(name: 'view', body: Uint8Array, projectId: number): Promise<Result>
    parse(name: 'short', body: Uint8Array, projectId: number): Promise<string>
  }
}

/** Creates a route's tool, and compiles the tool's schemas once. */
export function routeTool({ ingest, bodies }: ToolMeans, route: Route, text: ToolText, view?: ToolView): Tool {
  const pathIds = pathIdsOf(route)
  const options = Object.keys(view?.options.properties ?? {})
  const checkOptions = view && argumentCheck(view.options)
  const readRest = restReader(route, Object.keys(inputSchema(route, pathIds, view).properties))
  const views = new SharedGate(VIEWS)
  return {
    scope: route.access as Scope,
    listing: {
      name: text.name,
      title: text.title,
      description: text.description,
      inputSchema: asPlainJson({
        ...inputSchema(route, pathIds, view),
        ...(text.examples && { examples: text.examples })
      }),
      outputSchema: outputSchema([...(Object.values(route.replies) as TObject[]), ...(view?.outputs ?? [])]),
      annotations: text.annotations
    },
    async call(call) {
      const ids = Object.fromEntries(pathIds.map(name => [name, readId(name, call.args[name])]))
      const chosen = pick(call.args, options)
      checkOptions?.(chosen, call.exactArgs === call.args ? chosen : pick(call.exactArgs, options))
      view?.check(chosen)
      const parts = readRest(withUsualLimit(call, view), [...pathIds, ...options])
      const request = Object.assign(contextOf(call.request), ids, parts)
      const answer = async () => {
        // The limit is checked after the call has waited, because earlier calls in the batch have added their results
        // by then.
        if (isRead(route)) call.gathered.check()
        const { body } = await route.handler(request)
        if (body instanceof JsonPieces || body instanceof JsonStream) return body
        return body instanceof JsonText ? body.text : JSON.stringify(body)
      }
      const { projectId } = call.request.key
      const room = route.takesBody ? ingest.admit(request.payload.byteLength, 1, projectId) : undefined
      try {
        if (view === undefined) return call.gathered.add(await whole(await answer(), projectId))
        const show = async () =>
          call.gathered.add(
            await (view.isWhole(chosen)
              ? whole(await answer(), projectId)
              : shown(view, chosen, await answer(), projectId))
          )
        return await views.run(projectId, show, { client: call.request })
      } finally {
        room?.release()
      }
    }
  }

  /** Builds a result from the route's complete response. */
  async function whole(response: Response, projectId: number): Promise<Result> {
    const answer = response instanceof JsonStream ? await inMemory(response) : response
    const pieces = typeof answer === 'string' ? [answer] : answer.pieces
    if (lengthOf(answer) <= MAX_TEXT_BYTES) return typeof answer === 'string' ? answer : textOf(answer)
    const slices = new Slices()
    const formed: Uint8Array[] = []
    for (const piece of pieces) {
      await slices.next()
      formed.push(wellFormedBytes(typeof piece === 'string' ? Buffer.from(piece) : piece))
    }
    const joined = Buffer.concat(formed)
    // Yields to the event loop first, because passing the bytes to a thread copies the bytes again.
    await turn()
    return { pieces: formed, text: await bodies.parse('short', joined, projectId) }
  }

  async function shown(view: ToolView, chosen: Arguments, answer: Response, projectId: number): Promise<Result> {
    if (answer instanceof JsonStream) return readInParts(view, chosen, answer)
    if (lengthOf(answer) <= SMALL_BYTES) return view.show(textOf(answer), chosen)
    const pieces = typeof answer === 'string' ? [Buffer.from(answer)] : answer.pieces
    const pair = pairOf(JSON.stringify({ view: view.name, options: chosen }), pieces)
    await turn()
    return bodies.parse('view', pair, projectId)
  }
}

type Response = string | JsonPieces | JsonStream

/** Maximum size, in bytes, of a long response that a tool returns whole. */
const MOST_WHOLE = 32 * 1024 * 1024

async function inMemory(stream: JsonStream): Promise<JsonPieces> {
  const pieces: Buffer[] = []
  let bytes = 0
  const take = async (part: string) => {
    bytes += part.length
    if (bytes > MOST_WHOLE) {
      throw new Refusal(
        'invalid_request',
        `detail: the result exceeds ${MOST_WHOLE} bytes; request the outline, \`spanIds\` or \`field\``
      )
    }
    pieces.push(Buffer.from(part, 'latin1'))
  }
  await stream.send(textWriter(take))
  return new JsonPieces(pieces)
}

async function readInParts(view: ToolView, chosen: Arguments, stream: JsonStream): Promise<Result> {
  const reader = view.partReader?.(chosen)
  if (reader === undefined) throw new Error(`the view ${view.name} does not read responses in parts`)
  const slices = new Slices()
  const decode = (part: string) => Buffer.from(part, 'latin1').toString()
  let shown = ''
  const writer: ListWriter = {
    head: async text => reader.head(decode(text)),
    async item(text, bytes) {
      reader.item(decode(text), bytes)
      await slices.next()
    },
    async foot(text) {
      shown = reader.foot(decode(text))
    }
  }
  await stream.send(writer, (id, count) => reader.needs(id, count))
  const bytes = Buffer.from(wellFormed(shown))
  return bytes.length <= MAX_TEXT_BYTES ? shown : { pieces: [bytes], text: shortResultText(shown) }
}

const lengthOf = (answer: string | JsonPieces): number =>
  typeof answer === 'string' ? Buffer.byteLength(answer) : answer.byteLength
const textOf = (answer: string | JsonPieces): string =>
  typeof answer === 'string' ? answer : Buffer.concat(answer.pieces).toString()

/**
 * Returns the output schema of a tool that returns one of these objects or the error object. The schema lists only the
 * possible fields, because clients pass the whole tool list to their model. The responses themselves show what each
 * field contains.
 */
export function outputSchema(schemas: readonly TObject[]): object {
  const types = new Map<string, Set<string>>()
  for (const { properties } of [...schemas, ErrorBody]) {
    for (const [name, field] of Object.entries(properties))
      types.set(name, (types.get(name) ?? new Set()).add(typeOf(field)))
  }
  const fields = [...types].map(([name, names]) => [
    name,
    names.size === 1 && !names.has('') ? { type: [...names][0] } : {}
  ])
  return { type: 'object', properties: Object.fromEntries(fields) }
}

/** Returns a field's type, or an empty string if the field may have several types or any type. */
function typeOf(field: TSchema): string {
  const { type } = field as { readonly type?: unknown }
  return typeof type === 'string' ? type : ''
}

/**
 * Returns a check for arguments that belong to no route. The check throws `invalid_request` for invalid arguments.
 * `exact` contains the arguments with numbers as sent.
 */
export function argumentCheck(schema: TObject): (args: Arguments, exact?: Arguments) => void {
  const { check, explain } = checker(schema)
  return (args, exact = args) => {
    if (!check(args, exact)) throw new Refusal('invalid_request', explain(exact, 'arguments'))
  }
}

/** Returns a schema as plain JSON, without typebox's markers. */
export const asPlainJson = (schema: object): object => JSON.parse(JSON.stringify(schema))

function pathIdsOf({ path }: Route): PathId[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => name as PathId)
}

function inputSchema({ query, body }: Route, pathIds: readonly PathId[], view: ToolView | undefined): TObject {
  const ids = Object.fromEntries(pathIds.map(name => [name, PATH_IDS[name]]))
  const bodyFields = body && fieldsOf(body)
  const limit = view?.usualLimit && {
    limit: Type.Optional({ ...query?.properties.limit, default: view.usualLimit({}) } as TSchema)
  }
  const properties: TProperties = { ...ids, ...query?.properties, ...limit, ...bodyFields, ...view?.options.properties }
  return Type.Object(properties, { additionalProperties: false })
}

/** Adds the view's default limit to a call without a limit. */
function withUsualLimit(call: ToolCall, view: ToolView | undefined): ToolCall {
  if (view?.usualLimit === undefined || 'limit' in call.args) return call
  const limit = view.usualLimit(call.args)
  const args = { ...call.args, limit }
  return { ...call, args, exactArgs: call.exactArgs === call.args ? args : { ...call.exactArgs, limit } }
}

/**
 * Reads an id. A missing id is an invalid request; a malformed id is rejected as `not_found`, like a malformed id in a
 * path.
 */
function readId(name: PathId, value: unknown): string {
  if (typeof value === 'string') return readPathId(name, value)
  throw new Refusal('invalid_request', `${name}: ${value === undefined ? 'is required' : 'must be a string'}`)
}

type Rest = Pick<RequestOf<Record<string, unknown>>, 'query' | 'payload'>

/**
 * Returns a reader for arguments other than path ids and options. These arguments are the route's body or query
 * parameters. `names` are the names of all arguments.
 */
function restReader(
  { query, body }: Route,
  names: readonly string[]
): (call: ToolCall, others: readonly string[]) => Rest {
  if (body === undefined) {
    const check = queryCheck(query ?? NO_PARAMETERS, names)
    return ({ args, exactArgs }, others) => {
      const values = without(args, others)
      check(values, exactArgs === args ? values : without(exactArgs, others))
      return { query: values, payload: new Uint8Array() }
    }
  }
  return ({ exactArgs, inexact, payload }, others) => {
    if (payload !== undefined) return { query: {}, payload }
    const text = stringifyExact(without(exactArgs, others), inexact)
    return { query: {}, payload: Buffer.from(text) }
  }
}

/**
 * Returns the handler's request fields, taken from the HTTP request that contains the call. Fields that are costly to
 * compute are computed when read.
 */
function contextOf(request: RequestOf<unknown>) {
  const { requestId, key, headers } = request
  return {
    ...NOBODY,
    requestId,
    key,
    party: key.projectId,
    headers,
    traceId: '',
    scoreId: '',
    get localPort() {
      return request.localPort
    },
    get baseUrl() {
      return request.baseUrl
    },
    get signal() {
      return request.signal
    }
  }
}

const pick = (args: Arguments, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(Object.entries(args).filter(([name]) => names.includes(name)))
const without = (args: Arguments, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(Object.entries(args).filter(([name]) => !names.includes(name)))
