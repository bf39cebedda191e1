/** What a span says of the trace that it belongs to. All of it stays among the span's attributes, which have no other place. */
import { MAX_NAME, MAX_TAG, MAX_TEXT } from '../schema/input.ts'
import type { Json } from '../trace/json/exact-json.ts'
import type { FreeJson } from '../trace/json/free-json.ts'
import { setOwn } from '../trace/metadata.ts'
import { INNER, type Level, PROCESS_ROOT, ROOT, type SpanHints } from '../trace/states/gathered.ts'
import { traceNamesOf } from './dialects.ts'
import type { Fields } from './fields.ts'
import { shortText } from './text.ts'
import { freeForm, freeOf, parseJson, readForm } from './wire/attribute-values.ts'
import type { OtlpSpan } from './wire/request.ts'

const NAMES = traceNamesOf(({ name }) => name)
const ROOT_NAMES = traceNamesOf(({ rootName }) => rootName)
const ROOTS = traceNamesOf(({ root }) => root)
const INPUTS = traceNamesOf(({ input }) => input)
const OUTPUTS = traceNamesOf(({ output }) => output)
const SESSION_IDS = traceNamesOf(({ sessionId }) => sessionId)
const USER_IDS = traceNamesOf(({ userId }) => userId)
const TAGS = traceNamesOf(({ tags }) => tags)
const METADATA = traceNamesOf(({ metadata }) => metadata)
const METADATA_PREFIXES = traceNamesOf(({ metadataPrefixes }) => metadataPrefixes)
/** These stand in fields of their own. */
const ELSEWHERE = new Set([...SESSION_IDS, ...USER_IDS, ...TAGS])
/** The key of metadata under which the sender's resource stands. */
const RESOURCE = 'otel.resource'

export function readHints(
  span: OtlpSpan,
  fields: Fields,
  name: string,
  parentId: string | null,
  resource: FreeJson | undefined
): SpanHints {
  const { startMicros, endMicros } = span
  return {
    level: readLevel(span, fields, parentId),
    startMicros,
    endMicros: Math.max(startMicros, endMicros),
    name: findText(fields, NAMES, MAX_NAME),
    ownName: findText(fields, ROOT_NAMES, MAX_NAME) ?? name,
    input: findJson(fields, INPUTS),
    output: findJson(fields, OUTPUTS),
    sessionId: findText(fields, SESSION_IDS, MAX_TEXT),
    userId: findText(fields, USER_IDS, MAX_TEXT),
    tags: readTags(fields.find(TAGS)?.value),
    metadata: readMetadata(fields, resource)
  }
}

/** Set where a sender knows whether a span's parent is in another process, and where it is. */
const KNOWS_REMOTE = 0x100
const IS_REMOTE = 0x200

function readLevel({ flags }: OtlpSpan, fields: Fields, parentId: string | null): Level {
  if (parentId === null) return ROOT
  const isRemote = (flags & KNOWS_REMOTE) !== 0 && (flags & IS_REMOTE) !== 0
  return isRemote || fields.find(ROOTS)?.value === true ? PROCESS_ROOT : INNER
}

function findText(fields: Fields, names: readonly string[], length: number): string | undefined {
  for (const name of names) {
    const text = shortText(fields.get(name), length)
    if (text !== undefined) return text
  }
  return undefined
}

function findJson(fields: Fields, names: readonly string[]): string | undefined {
  const found = fields.find(names)
  return (found && freeForm(found.value, 'loose').stored) ?? undefined
}

/** Tags come as an array, as JSON text of one, or as text with commas. */
function readTags(value: Json): readonly string[] {
  const list = typeof value === 'string' ? (parseJson(value) ?? value.split(',')) : value
  if (!Array.isArray(list)) return []
  const tags = list.map(item => shortText(typeof item === 'string' ? item.trim() : item, MAX_TAG))
  return [...new Set(tags.filter(tag => tag !== undefined))]
}

/** What is said as one object, what is said in attributes of its own, and who the sender is. */
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
      setOwn(metadata, name.slice(prefix.length), freeForm(fields.get(name), 'loose').stored ?? 'null')
    }
  }
  if (resource !== undefined) metadata[RESOURCE] ??= resource.stored ?? '{}'
  return metadata
}
