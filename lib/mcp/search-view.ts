/**
 * Controls how search_traces shows a page. Clients truncate long results, so the result of a page is an outline: what
 * tells the traces apart, without the fields that get_trace shows as well.
 */
import Type, { type Static } from 'typebox'
import { closed, mapOf, named } from '../schema/object.ts'
import { ScoreValue } from '../schema/output.ts'
import { FoundTrace, TraceSearchPage } from '../schema/search.ts'
import { inspectText, parseInexact, stringifyExact } from '../trace/json/exact-json.ts'
import { cutOutlineText, SHOWN_BYTES } from './outline.ts'
import type { ToolView } from './tool.ts'

type Page = Static<typeof TraceSearchPage>
type Found = Page['traces'][number]

const options = Type.Object({
  detail: Type.Optional(
    Type.Enum(['outline', 'full'], {
      default: 'outline',
      description: '`outline`: what tells the traces apart. `full`: the whole summaries, which are about twice as long.'
    })
  )
})
type Options = Static<typeof options>

const { id, name, status, startedAt, durationMs, errorCount, spanCount } = FoundTrace.properties
const OutlinedTrace = closed({
  id,
  name,
  status,
  startedAt,
  durationMs,
  spanCount,
  errorCount,
  model: Type.Optional(Type.String()),
  sessionId: Type.Optional(Type.String()),
  userId: Type.Optional(Type.String()),
  tags: Type.Optional(FoundTrace.properties.tags),
  totalTokens: Type.Optional(Type.Integer({ minimum: 0 })),
  costUsd: Type.Optional(Type.Number({ minimum: 0 })),
  scores: Type.Optional(mapOf(ScoreValue, 'The value of the newest score of each name.')),
  firstError: Type.Optional(
    closed({ step: Type.String(), type: Type.Optional(Type.String()), message: Type.Optional(Type.String()) })
  ),
  input: Type.Optional(Type.String({ description: 'The beginning of the input, as text.' })),
  output: Type.Optional(Type.String({ description: 'The beginning of the output, as text.' })),
  excerpt: Type.Optional(Type.String({ description: 'The text in which words of `q` were found.' }))
})

const { traces: _, note: __, ...paging } = TraceSearchPage.properties
const TraceSearchOutline = named('TraceSearchOutline', {
  detail: Type.Literal('outline'),
  note: Type.String({ description: 'What is left out, and how to get it; if nothing was found, why.' }),
  traces: Type.Array(OutlinedTrace),
  ...paging
})

/** Maximum number of bytes of a name, id or tag that the outline shows. */
const NAME_BYTES = 120

export const searchView: ToolView = {
  options,
  outputs: [TraceSearchOutline],
  isInline: true,
  check() {},
  isWhole: ({ detail }: Options) => detail === 'full',
  show(answer) {
    const { inexact } = inspectText(answer)
    return outlineSearch((inexact ? parseInexact(answer) : JSON.parse(answer)) as Page, inexact)
  },
  partReader() {
    throw new Error('a page of a search is never sent in parts')
  }
}

/** Returns the outline as JSON text. Leaves out the last traces if they do not fit. */
export function outlineSearch({ traces, note, ...rest }: Page, inexact = false): string {
  const shown: object[] = []
  let left =
    SHOWN_BYTES - Buffer.byteLength(stringifyExact(rest, inexact)) - Buffer.byteLength(noteOf(rest, note, 0, 1))
  for (const trace of traces) {
    const outlined = outlineOf(trace)
    left -= Buffer.byteLength(stringifyExact(outlined, inexact)) + 1
    if (left < 0) break
    shown.push(outlined)
  }
  const outline = { detail: 'outline', note: noteOf(rest, note, shown.length, traces.length), traces: shown, ...rest }
  return stringifyExact(outline, inexact)
}

function noteOf({ reached }: Pick<Page, 'reached'>, note: string | null, shown: number, all: number): string {
  return [
    ...(note === null ? [] : [note]),
    ...(shown < all
      ? [`This has ${shown} of the page's ${all} traces, since more do not fit. To read the rest, use limit ${shown}.`]
      : []),
    ...(reached === null
      ? []
      : [
          `The search stopped at ${reached} before the page was full, and more traces may meet the conditions: call ` +
            'again with nextCursor as after, or with a narrower from and to.'
        ]),
    ...(all === 0 ? [] : ['To read a run, call get_trace with its id.', LEFT_OUT])
  ].join(' ')
}

const LEFT_OUT =
  'Left out, and in detail "full": provider, environment, endedAt, ingestedAt, tokens of input and output, bytes, ' +
  'and ids of scores and of the failed span.'

function outlineOf(trace: Found): object {
  const { id, name, status, startedAt, durationMs, spanCount, errorCount, usage, costUsd, firstError } = trace
  const { inputPreview, outputPreview, excerpt, model, sessionId, userId, tags } = trace
  const cut = (text: string) => cutOutlineText(text, NAME_BYTES)
  const scores = Object.entries(trace.scores).map(([name, { value }]) => [
    name,
    typeof value === 'string' ? cut(value) : value
  ])
  return {
    id,
    name: cut(name),
    status,
    startedAt,
    durationMs,
    spanCount,
    errorCount,
    ...(model !== null && { model: cut(model) }),
    ...(sessionId !== null && { sessionId }),
    ...(userId !== null && { userId }),
    ...(tags.length > 0 && { tags }),
    ...(Number(usage.totalTokens) > 0 && { totalTokens: usage.totalTokens }),
    ...(costUsd !== null && { costUsd }),
    ...(scores.length > 0 && { scores: Object.fromEntries(scores) }),
    ...(firstError !== null && { firstError: errorOf(firstError, cut) }),
    ...(inputPreview !== null && { input: inputPreview }),
    ...(outputPreview !== null && { output: outputPreview }),
    ...(excerpt !== null && { excerpt: excerpt.text })
  }
}

function errorOf({ step, type, message }: NonNullable<Found['firstError']>, cut: (text: string) => string): object {
  return { step: cut(step), ...(type !== null && { type: cut(type) }), ...(message !== null && { message }) }
}
