/** Patches the metadata of a stored trace, the only part of a trace that may change after ingest. */
import type { Sql } from 'postgres'
import type { Attempts } from '../../database/sql-access.ts'
import { Refusal } from '../../errors.ts'
import { MAX_DOCUMENT_BYTES } from '../../schema/input.ts'
import { type Merged, mergeMetadata } from '../../trace/metadata.ts'
import { noting } from '../changes/news.ts'
import { addTotals, hasTotals, makeTotals } from '../write/totals.ts'
import { freshVersion } from '../write/trace-numbers.ts'
import { CHANGED, compareAndSet } from './compare-and-set.ts'

export interface Patched {
  /** The merged metadata, as a JSON string. */
  readonly metadata: string
  /** False if the merged metadata equals the stored metadata, so nothing was written. */
  readonly changed: boolean
}

export type Merge = (stored: string | null, patch: string) => Merged | Promise<Merged>

interface Stored {
  readonly seq: number
  readonly version: number
  readonly documentBytes: number
  /** The stored metadata as a JSON string; null means {}. */
  readonly metadata: string | null
  /** Earliest time that the next patch may have, always later than the previous patch; null if there was no patch. */
  readonly notBefore: string | null
}

const bytesOf = (metadata: string | null): number => Buffer.byteLength(metadata ?? '{}')

/**
 * Merges `patch`, a JSON object string, into a trace's metadata. Returns undefined if the trace does not exist. Throws
 * the Refusal `payload_too_large` if the trace document would become too large.
 *
 * The merged metadata is written only if the trace still has the version that was read. Otherwise, the metadata is read
 * and merged again.
 */
export async function patchMetadata(
  sql: Sql,
  projectId: number,
  traceId: string,
  patch: string,
  attempts: Attempts = { sent: false },
  merge: Merge = mergeMetadata
): Promise<Patched | undefined> {
  return compareAndSet(attempts, async send => {
    const [stored] = await sql<Stored[]>`
      select seq, version, document_bytes as "documentBytes", metadata,
        metadata_updated_at + interval '1 microsecond' as "notBefore"
      from traces where project_id = ${projectId} and id = ${traceId}`
    if (stored === undefined) return undefined
    const merged = await merge(stored.metadata, patch)
    if (!merged.changed) return { metadata: stored.metadata ?? '{}', changed: attempts.sent }
    const added = bytesOf(merged.text) - bytesOf(stored.metadata)
    const bytes = stored.documentBytes + added
    if (bytes > MAX_DOCUMENT_BYTES) {
      const rule = `the trace document would be ${bytes} bytes, but at most ${MAX_DOCUMENT_BYTES} can be stored`
      throw new Refusal('payload_too_large', rule)
    }
    const isTaken = await send(() => replaceMetadata(sql, projectId, stored, merged.text, added))
    return isTaken ? { metadata: merged.text ?? '{}', changed: true } : CHANGED
  })
}

/**
 * A patch's time is always later than earlier patches' times, even if the clock is set back, because an import compares
 * the times to find the later state.
 */
const REPLACE_METADATA = `
  with taken as (
    update traces set metadata = $3::json, metadata_updated_at = greatest(now(), $4::timestamptz),
      document_bytes = document_bytes + $5::int, estimated_bytes = estimated_bytes + $5::int, version = $6::bigint
    where project_id = $1::int and seq = $2::bigint and version = $7::bigint and ${hasTotals('$1::int')}
    returning seq, 0 as traces, 0 as spans, $5::bigint as bytes
  ), totals as (${addTotals('$1::int', 'taken')}), noted as (${noting('$1::int', 'taken')})
  select exists (select from taken) as "isTaken"`

/**
 * Writes the merged metadata and returns true. Writes nothing and returns false if the trace has changed since it was
 * read.
 */
async function replaceMetadata(sql: Sql, projectId: number, stored: Stored, metadata: string | null, added: number) {
  const { seq, notBefore, version } = stored
  const [{ isTaken }] = await sql.unsafe<[{ readonly isTaken: boolean }]>(
    REPLACE_METADATA,
    [projectId, seq, metadata, notBefore, added, freshVersion(), version],
    { prepare: true }
  )
  if (!isTaken) await makeTotals(sql, projectId)
  return isTaken
}
