/**
 * Reads the spans of a long trace in pages, in response order, so that at most a few megabytes of the trace's texts are
 * in memory. All spans are first listed with their sizes; then each page is read by its spans' ids. The caller's
 * transaction ensures that all statements see the same spans.
 *
 * Texts that were packed together (lib/rows/packed-texts.ts) can only be read together, but the spans that the texts
 * belong to may be on several pages. Some unpacked groups therefore stay in memory.
 */
import type { Sql } from 'postgres'
import type { TableNames } from '../../database/tables.ts'
import { lengthOfTexts, MAX_SLICED_BYTES, type SpanTexts, unpackGroup } from '../../rows/packed-texts.ts'
import { fillSpans } from '../../trace/span-messages.ts'
import type { TraceMessages } from '../trace/messages.ts'
import { bytewise, type RawRow, RowReader } from './byte-rows.ts'
import type { SpanRow } from './trace-json.ts'

/** Maximum number of text bytes and of spans per page. A single span with more bytes gets a separate page. */
const PAGE = { bytes: 512 * 1024, spans: 500 }
/** Maximum number of unpacked characters that stay in memory while another group is unpacked. */
const MAX_KEPT = 4 * 1024 * 1024

/** A listed span, whose page has not been read yet. */
export interface SpanInOrder {
  readonly id: string
  /** Number of bytes by which the texts that are not packed make the span's JSON longer. */
  readonly bytes: number
  /** Whether all text columns are null. The texts may still be packed in another span's row. */
  readonly isBare: boolean
  /** Size of the slice in this row, in bytes; 0 if the row has no slice. */
  readonly sliceBytes: number
  /** Id of the first span of the group with which the row's slice was packed; null if the row has no slice. */
  readonly groupId: string | null
}

export interface SpanPlace {
  readonly projectId: number
  readonly traceSeq: number
  readonly names: TableNames
}

/** A span of a page. `textBytes` is the number of bytes by which texts that were not read make its JSON longer. */
export type PagedSpan<T extends SpanRow = SpanRow> = T & { readonly textBytes: number }

/** Selects what to read of a trace's spans. An omitted member reads everything. */
interface Choice {
  /** SQL for fields of T that SpanRow lacks, over spans as s. */
  readonly more?: string
  /** Messages that fill in values that spans lack. */
  readonly messages?: TraceMessages | undefined
  /** Returns whether to read the span with this id. */
  readonly isRead?: (id: string) => boolean
  /**
   * Returns whether the texts of the span with this id are needed, given the number of spans. Packed texts are read
   * even if they are not needed.
   */
  readonly needs?: ((id: string, count: number) => boolean) | undefined
}

/** Yields pages of a trace's spans with their texts. Each character of a string is one byte (byte-rows.ts). */
export async function* readSpanPages<T extends SpanRow = SpanRow>(
  sql: Sql,
  place: SpanPlace,
  { more = '', messages, isRead = () => true, needs = () => true }: Choice = {}
): AsyncGenerator<{ readonly own: readonly T[]; readonly spans: readonly PagedSpan<T>[] }, void> {
  const all = await listSpans(sql, place)
  const groups = new Groups(sql, place, all)
  await groups.findMembers()
  // The listed sizes do not show which values the messages will fill in.
  const isNeeded = (id: string) => messages?.has(id) || needs(id, all.length)
  const skipped = new Map(all.flatMap(({ id, bytes }) => (isNeeded(id) ? [] : [[id, bytes]])))
  const weighed = all
    .filter(({ id }) => isRead(id))
    .map(span => ({ ...span, bytes: (skipped.has(span.id) ? 0 : span.bytes) + (messages?.bytesOf(span.id) ?? 0) }))
  for await (const texts of pagesOf(weighed, groups)) {
    const ids = [...texts.keys()]
    const whole = ids.filter(id => !skipped.has(id))
    const found = await sql`
      select ${sql.unsafe(SPAN_COLUMNS + more)},
        case when is_whole then s.input end as input, case when is_whole then s.output end as output,
        case when is_whole then s.attributes end as attributes, case when is_whole then s.events end as events
      from ${sql.unsafe(place.names.spans)} s cross join lateral (select s.id = any (${whole}::bytea[]) as is_whole) w
      where s.project_id = ${place.projectId} and s.trace_seq = ${place.traceSeq} and s.id = any (${ids}::bytea[])
      order by s.started_at, s.id`.raw()
    const rows: readonly RawRow[] = found
    const reader = new RowReader(found.columns)
    const own = rows.map(row => {
      const span = reader.row<T>(row)
      return { ...span, ...texts.get(span.id) }
    })
    const spoken = (await messages?.read(ids))?.map(bytewise) ?? []
    const filled = spoken.length === 0 ? own : fillSpans(own, spoken)
    yield { own, spans: filled.map(span => ({ ...span, textBytes: skipped.get(span.id) ?? 0 })) }
  }
}

/** Yields the spans of each page with their packed texts, if any. A page has at least one span. */
async function* pagesOf(spans: readonly SpanInOrder[], groups: Groups): AsyncGenerator<Map<string, SpanTexts | null>> {
  let page = new Map<string, SpanTexts | null>()
  let bytes = 0
  for (const span of spans) {
    const group = groups.of(span)
    const texts = group === null ? undefined : (await groups.texts(group)).get(span.id)
    const own = span.bytes + (texts === undefined ? 0 : lengthOfTexts([texts]))
    if (page.size === PAGE.spans || (page.size > 0 && bytes + own > PAGE.bytes)) {
      yield page
      page = new Map()
      bytes = 0
    }
    page.set(span.id, texts ?? null)
    bytes += own
  }
  if (page.size > 0) yield page
}

/**
 * Reads the packed texts of a trace's spans, group by group. Returns the result of the `of` callback for each wanted
 * span whose texts are packed, keyed by span id.
 */
export async function mapPacked<T>(
  sql: Sql,
  place: SpanPlace,
  wanted: ReadonlySet<string>,
  of: (texts: SpanTexts) => T
): Promise<Map<string, T>> {
  const listed = await listSpans(sql, place)
  const groups = new Groups(sql, place, listed)
  // A group that is stored as a single slice may hold the texts of any span.
  const near = listed.filter(({ id, sliceBytes }) => wanted.has(id) || sliceBytes > MAX_SLICED_BYTES)
  const found = new Map<string, T>()
  for (const group of new Set(near.map(({ groupId }) => groupId))) {
    if (group === null) continue
    for (const [id, texts] of await groups.texts(group)) if (wanted.has(id)) found.set(id, of(texts))
  }
  return found
}

const SPAN_COLUMNS = `
  s.id, s.parent_id as "parentSpanId", s.name, s.kind, s.status, s.started_at as "startedAt", s.ended_at as "endedAt",
  round(extract(epoch from s.ended_at - s.started_at) * 1000)::bigint as "durationMs", s.provider, s.model,
  s.input_tokens as "inputTokens", s.output_tokens as "outputTokens", s.total_tokens as "totalTokens",
  s.cost_usd as "costUsd"`

/** Lists a trace's spans in response order. PostgreSQL determines the sizes without reading the texts. */
function listSpans(sql: Sql, { projectId, traceSeq, names }: SpanPlace): Promise<SpanInOrder[]> {
  // An absent text is rendered as null, {} or [] (trace-json.ts).
  return sql<SpanInOrder[]>`
    select id, (coalesce(octet_length(input::text) - 4, 0) + coalesce(octet_length(output::text) - 4, 0)
        + coalesce(octet_length(attributes::text) - 2, 0) + coalesce(octet_length(events::text) - 2, 0))::int as bytes,
      num_nulls(input, output, attributes, events) = 4 as "isBare",
      coalesce(octet_length(packed), 0) as "sliceBytes", substr(packed, 3, 8) as "groupId"
    from ${sql.unsafe(names.spans)} where project_id = ${projectId} and trace_seq = ${traceSeq}
    order by started_at, id`
}

interface UnpackedGroup {
  /** Texts by span id. */
  readonly texts: ReadonlyMap<string, SpanTexts>
  /** Number of characters of all texts. */
  readonly length: number
}

/** The groups of a trace's packed texts. The most recently used groups are kept unpacked. */
class Groups {
  readonly #sql: Sql
  readonly #place: SpanPlace
  readonly #listed: readonly SpanInOrder[]
  /** Ids of the spans whose rows have a group's slices. */
  readonly #slices = new Map<string, string[]>()
  /** Group of each span whose row has no slice, because its group is stored as a single slice. */
  readonly #members = new Map<string, string>()
  readonly #unpacked = new Map<string, UnpackedGroup>()

  constructor(sql: Sql, place: SpanPlace, listed: readonly SpanInOrder[]) {
    this.#sql = sql
    this.#place = place
    this.#listed = listed
    for (const { id, groupId } of listed) {
      if (groupId === null) continue
      const ids = this.#slices.get(groupId)
      if (ids === undefined) this.#slices.set(groupId, [id])
      else ids.push(id)
    }
  }

  of({ id, groupId }: SpanInOrder): string | null {
    return groupId ?? this.#members.get(id) ?? null
  }

  /**
   * Finds the groups of rows without a slice, because such rows do not name their group. To find out which spans a
   * group contains, unpacks each group that is stored as a single slice.
   */
  async findMembers(): Promise<void> {
    const bare = new Set(this.#listed.flatMap(({ id, isBare, groupId }) => (isBare && groupId === null ? [id] : [])))
    if (bare.size === 0) return
    for (const { groupId, sliceBytes } of this.#listed) {
      if (groupId === null || sliceBytes <= MAX_SLICED_BYTES) continue
      for (const id of (await this.texts(groupId)).keys()) if (bare.has(id)) this.#members.set(id, groupId)
    }
  }

  async texts(group: string): Promise<ReadonlyMap<string, SpanTexts>> {
    const { texts, length } = this.#unpacked.get(group) ?? (await this.#unpack(group))
    this.#unpacked.delete(group)
    this.#unpacked.set(group, { texts, length })
    return texts
  }

  async #unpack(group: string): Promise<UnpackedGroup> {
    let kept = 0
    for (const [name, { length }] of [...this.#unpacked].reverse()) {
      kept += length
      if (kept > MAX_KEPT) this.#unpacked.delete(name)
    }
    const { projectId, traceSeq, names } = this.#place
    const rows = await this.#sql<{ packed: string }[]>`
      select packed from ${this.#sql.unsafe(names.spans)}
      where project_id = ${projectId} and trace_seq = ${traceSeq}
        and id = any (${this.#slices.get(group) ?? []}::bytea[])`
    const slices = rows.map(({ packed }) => Buffer.from(packed, 'hex'))
    const texts = await unpackGroup(slices, 'latin1')
    return { texts, length: lengthOfTexts([...texts.values()]) }
  }
}
