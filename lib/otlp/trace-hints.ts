/**
 * Reads a span's hints about its trace. The attributes that hold hints are kept, because spans have no fields for
 * hints.
 */
import { MAX_NAME, MAX_TAG, MAX_TEXT } from '../schema/input.ts'
import { isJsonObject, type Json } from '../trace/json/exact-json.ts'
import type { FreeJson } from '../trace/json/free-json.ts'
import { setOwn } from '../trace/metadata.ts'
import { remembering } from '../trace/remembering.ts'
import { isCall } from '../trace/span-usage.ts'
import { INNER, type Level, PROCESS_ROOT, ROOT, type SpanHints } from '../trace/states/gathered.ts'
import { dialects, traceNamesOf, unquoted } from './dialects.ts'
import { type Fields, groupOf, type SpanSender } from './fields.ts'
import type { DialectKind } from './kind-names.ts'
import { readTagging, type Tagging, withChosenTags } from './tagging.ts'
import { textOfAttribute } from './text.ts'
import { freeForm, freeOf, parseJson, readForm, type TextForm } from './wire/attribute-values.ts'
import type { Attributes, Origin, OtlpSpan } from './wire/request.ts'

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
const OWN_SESSION_IDS = dialects.flatMap(({ trace }) => (trace?.ownSessionId === undefined ? [] : [trace.ownSessionId]))
const USER_IDS = traceNamesOf(({ userId }) => userId)
const TAGS = traceNamesOf(({ tags }) => tags)
const METADATA = traceNamesOf(({ metadata }) => metadata)
const METADATA_PREFIXES = traceNamesOf(({ metadataPrefixes }) => metadataPrefixes)
/** Groups of attributes that most spans lack. */
const IDENTITIES = groupOf([...SESSION_IDS, ...USER_IDS, ...OWN_SESSION_IDS.flatMap(({ names }) => names)])
const LABELS = groupOf([...TAGS, ...METADATA])
/** Attributes that become other fields of a trace, so they are not metadata. */
const ELSEWHERE = new Set([...SESSION_IDS, ...USER_IDS, ...TAGS])
/** Span names that are the same for every run of a program. A trace is named after its service instead. */
const GENERIC_NAMES: ReadonlySet<string> = new Set([
  'claude_code.interaction',
  'qwen-code.interaction',
  'gemini-cli',
  'invoke_agent',
  'interaction',
  'user_prompt',
  'llm_call',
  'turn/start',
  'session_task.turn',
  'session_loop',
  'Session.get',
  'Session.prompt'
])
/** Metadata key under which the sender's resource is stored. */
const RESOURCE = 'otel.resource'

export function readHints(
  span: OtlpSpan,
  fields: Fields,
  name: string,
  kind: DialectKind,
  parentId: string | null,
  { resource, sender }: { readonly resource: FreeJson | undefined; readonly sender: ResourceClaims }
): SpanHints {
  const { startMicros, endMicros } = span
  const identifies = fields.mentions(IDENTITIES)
  const { tags, tagsLeftOut } = tagsOfSpan(fields, sender)
  return {
    level: readLevel(span, fields, parentId),
    startMicros,
    endMicros: Math.max(startMicros, endMicros),
    endsInFuture: endMicros > (Date.now() + CLOCKS_DIFFER_MS) * 1000,
    name: findText(fields, NAMES, MAX_NAME),
    ownName:
      findText(fields, ROOT_NAMES, MAX_NAME) ?? (GENERIC_NAMES.has(name) ? sender.serviceName : undefined) ?? name,
    input: findJson(fields, INPUTS),
    output: findJson(fields, OUTPUTS),
    sessionId: identifies ? (findText(fields, SESSION_IDS, MAX_TEXT) ?? findOwnSession(fields)) : undefined,
    userId: identifies ? findText(fields, USER_IDS, MAX_TEXT) : undefined,
    resourceSessionId: sender.sessionId,
    resourceUserId: sender.userId,
    responseId: isCall({ kind }) ? readResponseId(fields) : undefined,
    toolCallId: kind === 'tool' ? findText(fields, TOOL_CALL_IDS, MAX_TEXT) : undefined,
    tags,
    tagsLeftOut,
    metadata: readMetadata(fields, resource)
  }
}

function findOwnSession(fields: Fields): string | undefined {
  const own = OWN_SESSION_IDS.find(({ isOwn, names }) => fields.find(names) !== undefined && isOwn(fields))
  return own && findText(fields, own.names, MAX_TEXT)
}

/** A resource's claims about the traces that its spans belong to. */
export interface ResourceClaims extends SpanSender {
  readonly serviceName: string | undefined
  readonly sessionId: string | undefined
  readonly userId: string | undefined
  /** Attributes that become tags, and the tags of the resource's own attributes; undefined if no attribute does. */
  readonly tagging: Tagging | undefined
}

export function readSender(origin: Origin, tagNames: readonly string[] = []): ResourceClaims {
  const { resource, scopeName } = origin
  const service = textOfAttribute(resource.get('service.name'), MAX_NAME)
  return {
    // SDKs send `unknown_service:` followed by the program's name if no service name is configured.
    serviceName: service?.startsWith('unknown_service') ? undefined : service,
    sessionId: firstText(resource, SESSION_IDS),
    userId: firstText(resource, USER_IDS),
    tagging: tagNames.length === 0 ? undefined : readTagging(resource, tagNames),
    isCodex: /^codex\b|^codex_/.test(service ?? scopeName) || /^codex\b|^codex_/.test(scopeName),
    // MLflow can be configured to send only OpenTelemetry's names. The values are JSON text in either case.
    isMlflow: resource.get('telemetry.sdk.name') === 'mlflow' || scopeName.startsWith('mlflow.')
  }
}

function firstText(resource: Attributes, names: readonly string[]): string | undefined {
  for (const name of names) {
    const text = textOfAttribute(resource.get(name), MAX_TEXT)
    if (text !== undefined) return text
  }
  return undefined
}
/** Ids of tool uses. Coding agents' log records contain the same ids. */
const TOOL_CALL_IDS = ['gen_ai.tool.call.id', 'tool_use_id', 'call_id']

/** Tolerance for a sender's clock that is ahead of the server's. */
const CLOCKS_DIFFER_MS = 600_000

/** Matches a response id from OpenAI, Anthropic or OpenRouter by its prefix. */
const RESPONSE_ID = /"id"\s*:\s*"((?:chatcmpl|cmpl|resp|msg|gen)[-_][\w-]{6,100})"/

/** Returns the provider's response id. OpenInference sends the id only inside the raw response. */
function readResponseId(fields: Fields): string | undefined {
  const reported = textOfAttribute(fields.get('gen_ai.response.id'), MAX_TEXT)
  if (reported !== undefined) return reported
  const raw = fields.get('output.value')
  return typeof raw === 'string' ? RESPONSE_ID.exec(raw)?.[1] : undefined
}

/**
 * Bits of a span's flags. KNOWS_REMOTE: the sender knows whether the parent is remote, that is, in another process. The
 * other bit: the parent is remote.
 */
const KNOWS_REMOTE = 0x100
const IS_REMOTE = 0x200

export function readLevel({ flags }: OtlpSpan, fields: Fields, parentId: string | null): Level {
  if (parentId === null) return ROOT
  const isRemote = (flags & KNOWS_REMOTE) !== 0 && (flags & IS_REMOTE) !== 0
  return isRemote || fields.find(ROOTS)?.value === true ? PROCESS_ROOT : INNER
}

function findText(fields: Fields, names: readonly string[], length: number): string | undefined {
  for (const name of names) {
    const text = textOfAttribute(unquoted(fields, name), length)
    if (text !== undefined) return text
  }
  return undefined
}

function findJson(fields: Fields, names: readonly string[]): string | undefined {
  const found = fields.find(names)
  return (found && freeForm(found.value, formOf(found.name)).stored) ?? undefined
}

const NO_TAGS: readonly string[] = []

/** Returns the tags that the span reports, those of its chosen attributes, and those of its resource. */
function tagsOfSpan(fields: Fields, { tagging }: ResourceClaims): Pick<SpanHints, 'tags' | 'tagsLeftOut'> {
  const reported = fields.mentions(LABELS) ? readTags(fields.find(TAGS)?.value) : NO_TAGS
  return tagging === undefined ? { tags: reported } : withChosenTags(reported, fields, tagging)
}

/** Reads tags from an array, an array as JSON text, or a comma-separated string. */
const readTags = (value: Json): readonly string[] => (typeof value === 'string' ? tagsOfText(value) : tagsOf(value))

const tagsOfText = remembering(text => tagsOf(parseJson(text) ?? text.split(',')))

function tagsOf(list: Json): readonly string[] {
  if (!Array.isArray(list)) return []
  const tags = list.map(item => textOfAttribute(typeof item === 'string' ? item.trim() : item, MAX_TAG))
  return [...new Set(tags.filter(tag => tag !== undefined))]
}

/**
 * Collects the trace's metadata from attributes that hold an object, from prefixed attributes, and from the resource.
 */
function readMetadata(fields: Fields, resource: FreeJson | undefined): Readonly<Record<string, string>> {
  const metadata: Record<string, string> = {}
  for (const name of fields.mentions(LABELS) ? METADATA : []) {
    const value = fields.has(name) ? readForm(fields.get(name), 'json') : undefined
    if (!isJsonObject(value)) continue
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
