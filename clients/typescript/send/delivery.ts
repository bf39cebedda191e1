/** Waiting parts of one trace, in memory or in a file. */
import { utf8Length } from '../record/bytes.ts'
import type { PartKind, TracePart } from '../record/trace.ts'

export interface Delivery {
  readonly traceId: string
  name: string
  /** Undefined if the parts are only in the file. */
  parts: TracePart[] | undefined
  /** Number of bytes in memory. */
  bytes: number
  /** Spool file; undefined if the parts are only in memory. */
  file: string | undefined
  /** Number of earlier attempts to send the first part. */
  tries: number
  /** Earliest time of the next attempt, on the monotonic clock. */
  notBefore: number
  /** Whether a part may be stored even though its response did not arrive. */
  isUnsure: boolean
  /** Number of times the first part's values were cut because the part was too large. */
  cuts: number
  /** Reason why spans were rejected. Cleared if the trace's end turns out to be stored. */
  doubt: string | undefined
  /** Sequence number within the process. */
  readonly number: number
}

let deliveries = 0

export function newDelivery(traceId: string, name: string, parts: TracePart[] | undefined, file?: string): Delivery {
  const state = { tries: 0, notBefore: 0, cuts: 0, doubt: undefined }
  return { traceId, name, parts, bytes: 0, file, isUnsure: file !== undefined, number: ++deliveries, ...state }
}

/** Returns the approximate memory use of a part in bytes. */
export const deliverySize = ({ body }: TracePart): number => utf8Length(body) + PART_BYTES
const PART_BYTES = 200

const HEAD = 'spoor 1 '
/** Last line of a file. A file without this line is incomplete. */
const LAST = 'end of file'
const KINDS: readonly string[] = ['record', 'start', 'spans', 'end', 'joined', 'otlp', 'score'] satisfies PartKind[]

/** Returns one line for the trace, then one per part with its kind and body. JSON bodies have no line breaks. */
export function fileText({ traceId, name }: Delivery, parts: readonly TracePart[]): string {
  const lines = parts.map(({ kind, body }) => `${kind} ${body}`)
  return [HEAD + JSON.stringify({ traceId, name }), ...lines, LAST, ''].join('\n')
}

/** Returns undefined if the file is incomplete or invalid. */
export function readFileText(text: string): { traceId: string; name: string; parts: TracePart[] } | undefined {
  const [head = '', ...lines] = text.split('\n')
  if (!head.startsWith(HEAD) || lines.at(-2) !== LAST) return undefined
  try {
    const { traceId, name } = JSON.parse(head.slice(HEAD.length))
    const parts = lines.slice(0, -2).map((line): TracePart => {
      const space = line.indexOf(' ')
      const kind = line.slice(0, space)
      if (!KINDS.includes(kind)) throw new Error(`${kind} is not a part of a trace`)
      return { kind: kind as PartKind, body: line.slice(space + 1) }
    })
    return { traceId: String(traceId), name: String(name), parts }
  } catch {
    return undefined
  }
}

export function deliveryPath(traceId: string, kind: PartKind): string {
  if (kind === 'otlp') return '/api/v1/otlp/v1/traces'
  if (kind === 'record' || kind === 'start') return '/api/v1/traces'
  return `/api/v1/traces/${traceId}/${kind === 'score' ? 'scores' : kind}`
}
