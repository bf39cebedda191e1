/** What a span says of the trace that it belongs to. All of it stays among the span's attributes, which have no other place. */
import { MAX_NAME, MAX_TAG, MAX_TEXT } from '../schema/input.ts'
import type { Json } from '../trace/json.ts'
import { setOwn } from '../trace/metadata.ts'
import { traceNamesOf } from './dialects.ts'
import { type Fields, parseJson, readForm } from './fields.ts'
import type { Origin } from './request.ts'
import { shortText } from './text.ts'

export interface TraceHints {
  /** What the trace is called, whichever span says so. */
  readonly name: string | undefined
  /** What it is called if this span is its root. */
  readonly rootName: string
  /** Undefined: what the span itself was given, and gave. */
  readonly input: Json
  readonly output: Json
  readonly sessionId: string | undefined
  readonly userId: string | undefined
  readonly tags: readonly string[]
  readonly metadata: Readonly<Record<string, Json>>
}

const NAMES = traceNamesOf(({ name }) => name)
const ROOT_NAMES = traceNamesOf(({ rootName }) => rootName)
const INPUTS = traceNamesOf(({ input }) => input)
const OUTPUTS = traceNamesOf(({ output }) => output)
const SESSION_IDS = traceNamesOf(({ sessionId }) => sessionId)
const USER_IDS = traceNamesOf(({ userId }) => userId)
const TAGS = traceNamesOf(({ tags }) => tags)
const METADATA = traceNamesOf(({ metadata }) => metadata)
const METADATA_PREFIXES = traceNamesOf(({ metadataPrefixes }) => metadataPrefixes)
/** These stand in fields of their own. */
const ELSEWHERE = new Set([...SESSION_IDS, ...USER_IDS, ...TAGS])

export function readTraceHints(fields: Fields, spanName: string, origin: Origin): TraceHints {
  const input = fields.find(INPUTS)
  const output = fields.find(OUTPUTS)
  return {
    name: findText(fields, NAMES, MAX_NAME),
    rootName: findText(fields, ROOT_NAMES, MAX_NAME) ?? spanName,
    input: input && readForm(input.value, 'loose'),
    output: output && readForm(output.value, 'loose'),
    sessionId: findText(fields, SESSION_IDS, MAX_TEXT),
    userId: findText(fields, USER_IDS, MAX_TEXT),
    tags: readTags(fields.find(TAGS)?.value),
    metadata: readMetadata(fields, origin)
  }
}

function findText(fields: Fields, names: readonly string[], length: number): string | undefined {
  for (const name of names) {
    const text = shortText(fields.get(name), length)
    if (text !== undefined) return text
  }
  return undefined
}

/** Tags come as an array, as JSON text of one, or as text with commas. */
function readTags(value: Json): readonly string[] {
  const list = typeof value === 'string' ? (parseJson(value) ?? value.split(',')) : value
  if (!Array.isArray(list)) return []
  const tags = list.map(item => shortText(typeof item === 'string' ? item.trim() : item, MAX_TAG))
  return [...new Set(tags.filter(tag => tag !== undefined))]
}

/** What is said as one object, what is said in attributes of its own, and who the sender is. */
function readMetadata(fields: Fields, { resource }: Origin): Readonly<Record<string, Json>> {
  const metadata: Record<string, Json> = {}
  for (const name of METADATA) {
    const value = readForm(fields.get(name), 'json')
    if (typeof value !== 'object' || value === null || Array.isArray(value)) continue
    for (const [key, item] of Object.entries(value)) setOwn(metadata, key, item)
  }
  for (const prefix of METADATA_PREFIXES) {
    for (const name of fields.names(prefix)) {
      if (!ELSEWHERE.has(name)) setOwn(metadata, name.slice(prefix.length), readForm(fields.get(name), 'loose'))
    }
  }
  if (resource.size > 0) metadata['otel.resource'] ??= Object.fromEntries(resource)
  return metadata
}
