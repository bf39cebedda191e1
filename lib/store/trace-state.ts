/** What the write path reads of stored traces before it decides. */
import type { Sql } from 'postgres'
import type { TraceState } from '../trace/decide.ts'

/** A trace to look at, and what the decision on it needs. */
export interface Look {
  readonly projectId: number
  readonly traceId: string
  /** Spans whose stored hashes are wanted. */
  readonly spanIds: readonly string[]
  /** An end may merge metadata and replace the output. */
  readonly ends: boolean
}

interface Row extends Omit<TraceState, 'running' | 'spanHashes' | 'tags'> {
  readonly n: number
  readonly endedAt: string | null
  readonly tags: string[] | null
  /** Id and hash of each stored span, 16 and 64 digits, without separators. */
  readonly hashes: string | null
}

function spanHashes(text: string | null): Map<string, string> {
  const hashes = new Map<string, string>()
  for (let i = 0; text !== null && i < text.length; i += 80)
    hashes.set(text.slice(i, i + 16), text.slice(i + 16, i + 80))
  return hashes
}

const SEPARATOR = '\u0001'
const byteaArray = (ids: readonly string[]) => `{${ids.map(id => `"\\\\x${id}"`).join(',')}}`

/** The states of many traces in one query; a trace that does not exist is undefined at its place. */
export async function readTraceStates(sql: Sql, looks: readonly Look[]): Promise<(TraceState | undefined)[]> {
  const list = (cell: (look: Look) => string | number | boolean) => looks.map(cell).join(SEPARATOR)
  const rows = await sql<Row[]>`
    select k.n, t.seq, t.version, t.ended_at as "endedAt", t.body_hash as "bodyHash", t.end_hash as "endHash",
      t.environment, t.started_at as "startedAt", t.provider, t.model, t.cost_usd as "costUsd", t.tags,
      t.input_tokens as "inputTokens", t.output_tokens as "outputTokens", t.total_tokens as "totalTokens",
      t.span_count as "spanCount", t.error_count as "errorCount",
      t.document_bytes as "documentBytes", t.estimated_bytes as "estimatedBytes",
      case when k.ends::boolean then t.metadata end as metadata,
      case when k.ends::boolean and t.output is not null then octet_length(t.output::text) else 4 end as "outputBytes",
      (select string_agg(encode(s.id, 'hex') || encode(s.hash, 'hex'), '') from spans s
        where s.project_id = t.project_id and s.trace_seq = t.seq and s.id = any (k.span_ids::bytea[])) as hashes
    from unnest(
      string_to_array(${list(look => look.projectId)}::text, E'\\x01'),
      string_to_array(${list(look => look.traceId)}::text, E'\\x01'),
      string_to_array(${list(look => look.ends)}::text, E'\\x01'),
      string_to_array(${list(look => byteaArray(look.spanIds))}::text, E'\\x01')
    ) with ordinality as k (project_id, id, ends, span_ids, n)
    join traces t on t.project_id = k.project_id::int and t.id = k.id::uuid`
  const states: (TraceState | undefined)[] = looks.map(() => undefined)
  for (const { n, endedAt, tags, hashes, ...row } of rows) {
    states[n - 1] = { ...row, running: endedAt === null, tags: tags ?? [], spanHashes: spanHashes(hashes) }
  }
  return states
}
