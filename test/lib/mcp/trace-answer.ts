/** Responses of getTrace, for traces of any size. */
import { EXAMPLES } from '../../../lib/openapi/examples.ts'

export const DETAIL = EXAMPLES.getTrace?.replies[200] as { trace: object; spans: object[]; scores: object[] }

export type Values = { trace?: object; span?: (index: number) => object; spans?: number; scores?: number }

/** Returns the response of getTrace for a trace with the given numbers of spans and scores. */
export function answer({ trace, span, spans = 1, scores = 1 }: Values): string {
  const id = (index: number) => index.toString(16).padStart(16, '0')
  return JSON.stringify({
    trace: { ...DETAIL.trace, ...trace },
    spans: Array.from({ length: spans }, (_, i) => ({ ...DETAIL.spans[1], id: id(i), ...span?.(i) })),
    scores: Array.from({ length: scores }, () => DETAIL.scores[0])
  })
}
