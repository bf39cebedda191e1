/** Returns an export's groups with all of their spans read, as if all spans were stored. */
import type { OtlpSpan, SentSpans, SpanGroup } from '../../../../lib/otlp/wire/request.ts'

export const readAll = (spans: SentSpans): OtlpSpan[] =>
  Array.from({ length: spans.length }, (_, index) => spans.read(index))

export const readGroups = (groups: readonly SpanGroup[]) =>
  groups.map(({ origin, spans }) => ({ origin, spans: readAll(spans) }))
