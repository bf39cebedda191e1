/** Serves the previews that a trace's page shows for its steps: what each step did, and why it failed. */
import Type from 'typebox'
import type { App } from '../../lib/app.ts'
import { found, refuseField } from '../../lib/http/refuse.ts'
import { WEIGHTS } from '../../lib/limits/large-reads.ts'
import { Slices } from '../../lib/limits/slices.ts'
import { closed } from '../../lib/schema/object.ts'
import type { SpanRow } from '../../lib/store/answers/trace-json.ts'
import { readShownSpans } from '../../lib/store/answers/traces.ts'
import { cutText } from '../../lib/store/finding/preview.ts'
import { failureOfStep } from '../../lib/trace/failures/step-failure.ts'
import { previewOfStep, promptOf } from './app/content/step-preview.ts'
import { IN_PROJECT, readRoute } from './page-routes.ts'
import { PreviewsReply } from './replies.ts'
import type { NoteView } from './views-of-traces.ts'

/** Maximum number of spans in a request. */
const MOST_SPANS = 50
/** Maximum number of characters of a preview. A line of the tree needs fewer than a turn of a conversation. */
const MOST = { short: 200, long: 2000 }
const ID = /^[0-9a-f]{16}$/i

/** `length=long` asks for longer previews, and for the prompts of model calls. */
const PreviewsQuery = closed({
  spans: Type.String({ minLength: 1 }),
  length: Type.Optional(Type.Enum(['short', 'long']))
})

export default function previews(app: App, noteView: NoteView): void {
  const { sql, largeReads } = app
  readRoute(app, `${IN_PROJECT}/traces/:traceId/previews`, {
    query: PreviewsQuery,
    replies: { 200: PreviewsReply },
    async handler(request) {
      const { project, traceId, query } = request
      const { id } = project
      const ids = readSpanIds(query.spans)
      const read = () => sql.readOf(id, (each, names) => readShownSpans(each, id, traceId, ids, names), request)
      const spans = found(await largeReads.run(id, read, { weight: WEIGHTS.analysis, client: request }))
      await noteView(request)
      const slices = new Slices()
      const shown = []
      for (const span of spans) {
        await slices.next()
        shown.push(previewOf(span, query.length ?? 'short'))
      }
      return { body: { previews: shown } }
    }
  })
}

function readSpanIds(text: string): string[] {
  const ids = text.split(',')
  if (ids.length > MOST_SPANS) refuseField('spans', `must be at most ${MOST_SPANS}`)
  if (!ids.every(id => ID.test(id))) {
    refuseField('spans', 'must be ids of 16 hexadecimal characters, separated by commas')
  }
  return ids.map(id => id.toLowerCase())
}

function previewOf(span: SpanRow, length: keyof typeof MOST) {
  const most = MOST[length]
  const { id, kind, status } = span
  const isModel = kind === 'llm'
  const line = (text: string) => (length === 'short' ? text.slice(0, 8 * most).replace(/\s+/g, ' ') : text).trim()
  // A model's input is parsed only for its prompt, because it holds the whole conversation so far.
  const input = isModel && length === 'short' ? null : parsed(span.input)
  const { type, message } = status === 'error' ? failureOfStep(span) : { type: null, message: null }
  const error = [type, message].filter(part => part !== null).join(': ')
  return {
    id,
    text: cutText(line(previewOfStep(kind, input, parsed(span.output))), most),
    prompt: isModel && length === 'long' ? cutText(line(promptOf(input)), most) : '',
    error: cutText(line(error), most)
  }
}

const parsed = (json: string | null): unknown => (json === null ? undefined : JSON.parse(json))
