/**
 * Controls how list_spans and list_errors show a page. Clients truncate long results, so a result is an outline: what
 * tells the steps or groups apart, without members that are null, and as many of them as fit.
 */
import Type, { type Static, type TObject } from 'typebox'
import { refuseField } from '../http/refuse.ts'
import { closed, named } from '../schema/object.ts'
import { AnyJson } from '../schema/output.ts'
import { FailureGroup, FailureList, ListedSpan, SpanList } from '../schema/span-list.ts'
import { inspectText, parseInexact, stringifyExact } from '../trace/json/exact-json.ts'
import { cutOutlineText, SHOWN_BYTES } from './outline.ts'
import type { ToolView } from './tool.ts'

type SpanPage = Static<typeof SpanList>
type FailurePage = Static<typeof FailureList>

const options = Type.Object({
  detail: Type.Optional(
    Type.Enum(['outline', 'full'], {
      default: 'outline',
      description: '`outline`: what tells the items apart, texts cut. `full`: everything, which may be long.'
    })
  )
})
type Options = Static<typeof options>

/** Maximum numbers of bytes of a name, of a message and of a text that an outline shows. */
const ROOM = { name: 120, message: 300, text: 1000 }
/** Maximum size of a page with texts of which an outline is made. */
const MOST_BYTES = 1024 * 1024

const Cut = closed({ type: Type.Optional(Type.String()), message: Type.Optional(Type.String()) })
const { id, traceId, name, kind, status, startedAt, durationMs } = ListedSpan.properties
const OutlinedSpan = closed({
  ...{ id, traceId, traceName: Type.String(), name, kind, status, startedAt, durationMs },
  model: Type.Optional(Type.String()),
  totalTokens: Type.Optional(Type.Integer({ minimum: 0 })),
  costUsd: Type.Optional(Type.Number({ minimum: 0 })),
  error: Type.Optional(Cut),
  bytes: Type.Integer({ minimum: 0, description: 'The size of input, output and attributes.' }),
  input: Type.Optional(AnyJson),
  output: Type.Optional(AnyJson),
  attributes: Type.Optional(AnyJson),
  events: Type.Optional(AnyJson)
})
const OutlinedGroup = closed({
  ...FailureGroup.properties,
  type: Type.Optional(Type.String()),
  message: Type.Optional(Type.String()),
  passedOn: Type.Optional(Type.Integer({ minimum: 1 }))
})

const outlineSchema = (title: string, items: TObject, list: string, { properties }: TObject): TObject =>
  named(title, {
    ...properties,
    detail: Type.Literal('outline'),
    note: Type.String({ description: 'What is left out, and how to get it; if nothing was found, why.' }),
    [list]: Type.Array(items)
  })

/** Returns a view whose `show` makes an outline of the parsed response. */
function viewOf(output: TObject, outline: (page: never, inexact: boolean) => string): ToolView {
  return {
    options,
    outputs: [output],
    isInline: true,
    check() {},
    isWhole: ({ detail }: Options) => detail === 'full',
    show(answer) {
      const bytes = Buffer.byteLength(answer)
      if (bytes > MOST_BYTES) {
        refuseField('texts', `the texts have ${bytes} bytes; use a smaller limit, or get_trace with spanIds`)
      }
      const { inexact } = inspectText(answer)
      return outline((inexact ? parseInexact(answer) : JSON.parse(answer)) as never, inexact)
    },
    partReader() {
      throw new Error('a list of steps is never sent in parts')
    }
  }
}

export const spansView = viewOf(outlineSchema('SpanOutlines', OutlinedSpan, 'spans', SpanList), outlineSpans)
export const failuresView = viewOf(
  outlineSchema('FailureOutlines', OutlinedGroup, 'errors', FailureList),
  outlineFailures
)

/** Returns the outline of a page of spans as JSON text. */
export function outlineSpans({ spans, ...rest }: SpanPage, inexact = false): string {
  const noteOf = (shown: number) => [
    ...(rest.hint === null ? [] : [rest.hint]),
    ...(shown < spans.length ? [shownOf(shown, spans.length)] : []),
    ...(rest.reached === null || spans.length === 0 ? [] : [`The search stopped at ${rest.reached}: ${GO_ON}.`]),
    ...(spans.length === 0 ? [] : [LEFT_OUT])
  ]
  const items = spans.map(span => outlineOfSpan(span, inexact))
  return fitted('spans', items, rest, noteOf, inexact)
}

const shownOf = (shown: number, all: number): string =>
  `This has ${shown} of the page's ${all} spans, since more do not fit. To read the rest, use limit ${shown}.`
const groupsOf = (shown: number, given: number, all: number): string =>
  `This has ${shown} of ${all} groups. To read others, use ${shown < given ? '' : 'a higher limit, or '}kind or name.`
const GO_ON = 'call again with nextCursor as after, or with a narrower from and to'
const LEFT_OUT =
  'To read whole steps, call get_trace with traceId and spanIds. Left out: what is null, provider, environment, ' +
  'endedAt and parentSpanId; names, messages and texts are cut, with a mark.'

/** Returns the outline of groups of failures as JSON text. */
export function outlineFailures({ errors, ...rest }: FailurePage, inexact = false): string {
  const { complete, hint, reached, groupCount } = rest
  const noteOf = (shown: number) => [
    ...(hint === null ? [] : [hint]),
    ...(shown < groupCount ? [groupsOf(shown, errors.length, groupCount)] : []),
    ...(complete || errors.length === 0 ? [] : [`Only failures back to ${reached} are counted: ${GO_ON}.`]),
    ...(errors.length === 0 ? [] : ['To read an example, call get_trace with its traceId and spanIds.'])
  ]
  const items = errors.map(({ name, type, message, passedOn, example, ...group }) => ({
    name: cutOutlineText(name, ROOM.name),
    ...(type !== null && { type: cutOutlineText(type, ROOM.name) }),
    ...(message !== null && { message }),
    ...group,
    ...(passedOn > 0 && { passedOn }),
    example: { ...example, message: example.message && cutOutlineText(example.message, ROOM.message) }
  }))
  return fitted('errors', items, rest, noteOf, inexact)
}

/** Returns the result with as many of the items as fit. */
function fitted(
  list: string,
  items: readonly object[],
  rest: object,
  noteOf: (shown: number) => readonly string[],
  inexact: boolean
): string {
  const textOf = (shown: number) =>
    stringifyExact(
      { detail: 'outline', note: noteOf(shown).join(' '), [list]: items.slice(0, shown), ...rest },
      inexact
    )
  let left = SHOWN_BYTES - Buffer.byteLength(textOf(0))
  let shown = 0
  for (const item of items) {
    left -= Buffer.byteLength(stringifyExact(item, inexact)) + 1
    if (left < 0) break
    shown++
  }
  return textOf(shown)
}

function outlineOfSpan(span: SpanPage['spans'][number], inexact: boolean): object {
  const { id, traceId, traceName, name, kind, status, startedAt, durationMs, model, usage, costUsd, error } = span
  const { inputBytes, outputBytes, attributesBytes } = span
  const cut = (text: string) => cutOutlineText(text, ROOM.name)
  const texts = TEXTS.flatMap(field => {
    const json = span[field] === undefined ? 'null' : stringifyExact(span[field], inexact)
    if (['null', '{}', '[]'].includes(json)) return []
    const shown = cutOutlineText(json, ROOM.text)
    return [[field, shown === json ? span[field] : shown]]
  })
  return {
    id,
    traceId,
    traceName: cut(traceName),
    name: cut(name),
    kind,
    status,
    startedAt,
    durationMs,
    ...(model !== null && { model: cut(model) }),
    ...(usage !== null && { totalTokens: usage.totalTokens }),
    ...(costUsd !== null && { costUsd }),
    ...(error !== null && {
      error: {
        ...(error.type !== null && { type: cut(error.type) }),
        ...(error.message !== null && { message: cutOutlineText(error.message, ROOM.message) })
      }
    }),
    bytes: inputBytes + outputBytes + attributesBytes,
    ...Object.fromEntries(texts)
  }
}

const TEXTS = ['input', 'output', 'attributes', 'events'] as const
