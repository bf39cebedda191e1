/** The parts of one trace that wait to be sent, in memory or in a file. */
import type { Part, PartKind } from '../record/trace.ts'

export interface Delivery {
  readonly traceId: string
  name: string
  /** Undefined: they are in the file only. */
  parts: Part[] | undefined
  /** Bytes in memory. */
  bytes: number
  /** Its file in the spool; undefined if it is in memory only. */
  file: string | undefined
  /** How often the first part was sent. */
  tries: number
  /** Not before this time of the monotonic clock. */
  notBefore: number
  /** A part may be stored, but its answer did not come. */
  isUnsure: boolean
  /** How often its first part was cut, since it was too large. */
  cuts: number
  /** Why its spans were refused; forgotten if the end turns out to be stored. */
  doubt: string | undefined
  /** Grows from delivery to delivery. */
  readonly number: number
}

let deliveries = 0

export function newDelivery(traceId: string, name: string, parts: Part[] | undefined, file?: string): Delivery {
  deliveries++
  const state = { tries: 0, notBefore: 0, cuts: 0, doubt: undefined }
  return { traceId, name, parts, bytes: 0, file, isUnsure: file !== undefined, number: deliveries, ...state }
}

/** About as many bytes as it takes in memory. */
export const sizeOf = ({ body }: Part): number => Buffer.byteLength(body) + PART_BYTES
const PART_BYTES = 200

const HEAD = 'spoor 1 '
/** The last line: a file without it was not written to its end. */
const LAST = 'end of file'
const KINDS: readonly string[] = ['record', 'start', 'spans', 'end', 'joined', 'otlp', 'score'] satisfies PartKind[]

/** A line for the trace, then one for each part: its kind and its body, which as JSON has no line breaks. */
export function fileText({ traceId, name }: Delivery, parts: readonly Part[]): string {
  const lines = parts.map(({ kind, body }) => `${kind} ${body}`)
  return [HEAD + JSON.stringify({ traceId, name }), ...lines, LAST, ''].join('\n')
}

/** Undefined where the text is no whole file. */
export function readFileText(text: string): { traceId: string; name: string; parts: Part[] } | undefined {
  const [head = '', ...lines] = text.split('\n')
  if (!head.startsWith(HEAD) || lines.at(-2) !== LAST) return undefined
  try {
    const { traceId, name } = JSON.parse(head.slice(HEAD.length))
    const parts = lines.slice(0, -2).map((line): Part => {
      const space = line.indexOf(' ')
      const kind = line.slice(0, space)
      if (!KINDS.includes(kind)) throw new Error(`${kind} is no part of a trace`)
      return { kind: kind as PartKind, body: line.slice(space + 1) }
    })
    return { traceId: String(traceId), name: String(name), parts }
  } catch {
    return undefined
  }
}

export function pathOf(traceId: string, kind: PartKind): string {
  if (kind === 'otlp') return '/api/v1/otlp/v1/traces'
  if (kind === 'record' || kind === 'start') return '/api/v1/traces'
  return `/api/v1/traces/${traceId}/${kind === 'score' ? 'scores' : kind}`
}
