/**
 * Remembers the ranking floors (lib/store/rankings/rankings.ts) that PostgreSQL has committed. A writer leaves a trace
 * out of a ranking only if the trace is below a remembered floor. Floors never fall, so a remembered floor stays valid.
 * Until a floor is remembered, a few traces are ranked unnecessarily, without harm.
 */
import type { Sql } from 'postgres'
import type { RankingKeys } from '../../rows/copy-rows.ts'
import { RANKED, RANKED_IN_ALL, type Ranking } from './rankings.ts'

interface StoredFloors extends RankingKeys {
  readonly projectId: number
  /** The two halves of the list's number, as signed 32-bit integers. */
  readonly high: number
  readonly low: number
}

export class KnownFloors {
  /** Floors by project, then by the lower half of the list's number. */
  #projects = new Map<number, Map<number, StoredFloors[]>>()

  /** Replaces the remembered floors with the stored floors of all projects. */
  async read(sql: Sql): Promise<void> {
    const rows = await sql<StoredFloors[]>`
      select project_id as "projectId", (list >> 32)::int as high, ((list << 32) >> 32)::int as low,
        duration_ms as "durationMs", cost_usd as "costUsd"
      from ranking_floors`
    const projects = new Map<number, Map<number, StoredFloors[]>>()
    for (const row of rows) {
      const lists = projects.get(row.projectId) ?? new Map<number, StoredFloors[]>()
      projects.set(row.projectId, lists.set(row.low, [...(lists.get(row.low) ?? []), row]))
    }
    this.#projects = projects
  }

  /**
   * Returns the value of `ranked` for a trace with these keys, or for a row of trace_tags that belongs to the trace.
   * `bytes` contains the list numbers, big-endian, at `familyAt` and `namedFamilyAt`.
   */
  rank(projectId: number, keys: RankingKeys, bytes: Uint8Array, familyAt: number, namedFamilyAt: number): number {
    const lists = this.#projects.get(projectId)
    if (lists === undefined) return RANKED_IN_ALL
    return (
      RANKED_IN_ALL -
      bitsBelow(RANKED.family, keys, find(lists, bytes, familyAt)) -
      bitsBelow(RANKED.named_family, keys, find(lists, bytes, namedFamilyAt))
    )
  }
}

function find(lists: ReadonlyMap<number, StoredFloors[]>, bytes: Uint8Array, at: number): RankingKeys | undefined {
  const high = int32(bytes, at)
  return lists.get(int32(bytes, at + 4))?.find(row => row.high === high)
}

const int32 = (bytes: Uint8Array, at: number): number =>
  ((bytes[at] as number) << 24) |
  ((bytes[at + 1] as number) << 16) |
  ((bytes[at + 2] as number) << 8) |
  (bytes[at + 3] as number)

function bitsBelow(
  bits: Record<Ranking, number>,
  { durationMs, costUsd }: RankingKeys,
  floors: RankingKeys | undefined
): number {
  if (floors === undefined) return 0
  return (
    (isBelow(durationMs, floors.durationMs) ? bits.slowest : 0) +
    (isBelow(costUsd, floors.costUsd) ? bits.costliest : 0)
  )
}

const isBelow = (key: number | null, floor: number | null): boolean => key !== null && floor !== null && key < floor
