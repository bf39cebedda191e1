/** Groups of an export with all of their spans read, as they are when all of them are stored. */
import type { OtlpSpan, SentSpans, SpanGroup } from '../../../../lib/otlp/wire/request.ts'

export const readAll = (spans: SentSpans): OtlpSpan[] =>
  Array.from({ length: spans.length }, (_, index) => spans.read(index))

export const readGroups = (groups: readonly SpanGroup[]) =>
  groups.map(({ origin, spans }) => ({ origin, spans: readAll(spans) }))
