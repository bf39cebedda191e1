/**
 * Reads a span's hints about its trace. The attributes with the hints are kept, because spans have no fields for them.
 */
import { MAX_NAME, MAX_TAG, MAX_TEXT } from '../schema/input.ts'
import type { Json } from '../trace/json/exact-json.ts'
import type { FreeJson } from '../trace/json/free-json.ts'
import { setOwn } from '../trace/metadata.ts'
import { remembering } from '../trace/remembering.ts'
import { isCall } from '../trace/span-usage.ts'
import { INNER, type Level, PROCESS_ROOT, ROOT, type SpanHints } from '../trace/states/gathered.ts'
import type { DialectKind } from './dialect.ts'
import { dialects, traceNamesOf, unquoted } from './dialects.ts'
import type { Fields } from './fields.ts'
import { shortAttribute } from './text.ts'
import { freeForm, freeOf, parseJson, readForm, type TextForm } from './wire/attribute-values.ts'
import type { OtlpSpan } from './wire/request.ts'

const NAMES = traceNamesOf(({ name }) => name)
const ROOT_NAMES = traceNamesOf(({ rootName }) => rootName)
const ROOTS = traceNamesOf(({ root }) => root)
const INPUTS = traceNamesOf(({ input }) => input)
const OUTPUTS = traceNamesOf(({ output }) => output)
/** Encodings of attributes, by name or prefix. */
const FORMS = new Map<string, TextForm>(
  dialects.flatMap(({ trace }) =>
    [...(trace?.input ?? []), ...(trace?.output ?? []), ...(trace?.metadataPrefixes ?? [])].map(
      name => [name, trace?.form ?? 'loose'] as const
    )
  )
)
const formOf = (name: string): TextForm => FORMS.get(name) ?? 'loose'
const SESSION_IDS = traceNamesOf(({ sessionId }) => sessionId)
const USER_IDS = traceNamesOf(({ userId }) => userId)
const TAGS = traceNamesOf(({ tags }) => tags)
const METADATA = traceNamesOf(({ metadata }) => metadata)
const METADATA_PREFIXES = traceNamesOf(({ metadataPrefixes }) => metadataPrefixes)
/** Attributes that become other fields of a trace, so they are not metadata. */
const ELSEWHERE = new Set([...SESSION_IDS, ...USER_IDS, ...TAGS])
/** Metadata key of the sender's resource. */
const RESOURCE = 'otel.resource'

export function readHints(
  span: OtlpSpan,
  fields: Fields,
  name: string,
  kind: DialectKind,
  parentId: string | null,
  resource: FreeJson | undefined
): SpanHints {
  const { startMicros, endMicros } = span
  return {
    level: readLevel(span, fields, parentId),
    startMicros,
    endMicros: Math.max(startMicros, endMicros),
    endsInFuture: endMicros > (Date.now() + CLOCKS_DIFFER_MS) * 1000,
    name: findText(fields, NAMES, MAX_NAME),
    ownName: findText(fields, ROOT_NAMES, MAX_NAME) ?? name,
    input: findJson(fields, INPUTS),
    output: findJson(fields, OUTPUTS),
    sessionId: findText(fields, SESSION_IDS, MAX_TEXT),
    userId: findText(fields, USER_IDS, MAX_TEXT),
    responseId: isCall({ kind }) ? readResponseId(fields) : undefined,
    toolCallId: kind === 'tool' ? findText(fields, TOOL_CALL_IDS, MAX_TEXT) : undefined,
    tags: readTags(fields.find(TAGS)?.value),
    metadata: readMetadata(fields, resource)
  }
}

/** Ids of tool uses, which coding agents also give to their log records. */
const TOOL_CALL_IDS = ['gen_ai.tool.call.id', 'tool_use_id', 'call_id']

/** A sender's clock may be this far ahead of the server's. */
const CLOCKS_DIFFER_MS = 600_000

/** Matches a response id from OpenAI, Anthropic or OpenRouter by its prefix. */
const RESPONSE_ID = /"id"\s*:\s*"((?:chatcmpl|cmpl|resp|msg|gen)[-_][\w-]{6,100})"/

/** Returns the provider's response id. OpenInference has the id only in the raw response. */
function readResponseId(fields: Fields): string | undefined {
  const stated = shortAttribute(fields.get('gen_ai.response.id'), MAX_TEXT)
  if (stated !== undefined) return stated
  const raw = fields.get('output.value')
  return typeof raw === 'string' ? RESPONSE_ID.exec(raw)?.[1] : undefined
}

/** Span flags: the sender knows whether the parent is remote, and the parent is remote (in another process). */
const KNOWS_REMOTE = 0x100
const IS_REMOTE = 0x200

export function readLevel({ flags }: OtlpSpan, fields: Fields, parentId: string | null): Level {
  if (parentId === null) return ROOT
  const isRemote = (flags & KNOWS_REMOTE) !== 0 && (flags & IS_REMOTE) !== 0
  return isRemote || fields.find(ROOTS)?.value === true ? PROCESS_ROOT : INNER
}

function findText(fields: Fields, names: readonly string[], length: number): string | undefined {
  for (const name of names) {
    const text = shortAttribute(unquoted(fields, name), length)
    if (text !== undefined) return text
  }
  return undefined
}

function findJson(fields: Fields, names: readonly string[]): string | undefined {
  const found = fields.find(names)
  return (found && freeForm(found.value, formOf(found.name)).stored) ?? undefined
}

/** Reads tags from an array, an array as JSON text, or a comma-separated string. */
const readTags = (value: Json): readonly string[] => (typeof value === 'string' ? tagsOfText(value) : tagsOf(value))

const tagsOfText = remembering(text => tagsOf(parseJson(text) ?? text.split(',')))

function tagsOf(list: Json): readonly string[] {
  if (!Array.isArray(list)) return []
  const tags = list.map(item => shortAttribute(typeof item === 'string' ? item.trim() : item, MAX_TAG))
  return [...new Set(tags.filter(tag => tag !== undefined))]
}

/**
 * Collects the trace's metadata from attributes that hold an object, from prefixed attributes, and from the resource.
 */
function readMetadata(fields: Fields, resource: FreeJson | undefined): Readonly<Record<string, string>> {
  const metadata: Record<string, string> = {}
  for (const name of METADATA) {
    const value = fields.has(name) ? readForm(fields.get(name), 'json') : undefined
    if (typeof value !== 'object' || value === null || Array.isArray(value)) continue
    for (const [key, item] of Object.entries(value)) setOwn(metadata, key, freeOf(item).stored ?? 'null')
  }
  for (const prefix of METADATA_PREFIXES) {
    for (const name of fields.names(prefix)) {
      if (ELSEWHERE.has(name)) continue
      setOwn(metadata, name.slice(prefix.length), freeForm(fields.get(name), formOf(prefix)).stored ?? 'null')
    }
  }
  if (resource !== undefined) metadata[RESOURCE] ??= resource.stored ?? '{}'
  return metadata
}
