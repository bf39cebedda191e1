/** The list of a project's scores (specification 4.14): newest first, by keyset on (created_at, seq). */
import type { Sql } from 'postgres'
import type { Edge } from '../cursor.ts'
import { list } from './json.ts'
import { edgeBelow, SCORE_ORDER } from './order.ts'
import { renderScore, type ScoreRow } from './score-json.ts'
import { scoreColumns } from './scores.ts'

/** Scores that one call may look at when it filters by environment. */
export const MAX_EXAMINED = 1000

export interface ScoreQuery {
  readonly name?: string | undefined
  /** Of the score's trace; in lower case. */
  readonly environment?: string | undefined
  /** Canonical timestamps, inclusive bounds of createdAt. */
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly limit: number
  readonly after?: Edge | undefined
}

export interface ScorePage {
  /** The scores, as the text of a JSON array. */
  readonly scores: string
  /** Where to go on; undefined: nothing is left. */
  readonly next: Edge | undefined
}

interface Place {
  readonly createdAt: string
  readonly seq: number
}
type Row = ScoreRow & Place & { readonly traceId: string }

const past = (place: Place): Edge => ({ key: place.createdAt, tie: String(place.seq), inclusive: false })

/** What limits the scores to look at: project, name, `from`, and the edge that the walk begins at. */
function range(sql: Sql, projectId: number, query: ScoreQuery) {
  const edge = edgeBelow(SCORE_ORDER, query.after, query.to)
  return sql`
    s.project_id = ${projectId} ${query.name === undefined ? sql`` : sql`and s.name = ${query.name}`}
    and s.created_at >= ${query.from ?? '-infinity'}
    and (s.created_at, s.seq) ${edge.inclusive ? sql`<=` : sql`<`} (${edge.key}, ${edge.tie})`
}

/** The last score that this call may examine, where others lie beyond it. */
async function readHorizon(sql: Sql, projectId: number, query: ScoreQuery): Promise<Place | undefined> {
  const [last, beyond] = await sql<Place[]>`
    select s.created_at as "createdAt", s.seq
    from scores s
    where ${range(sql, projectId, query)}
    order by s.created_at desc, s.seq desc
    limit 2 offset ${MAX_EXAMINED - 1}`
  return beyond && last
}

/** One page of a project's scores. With an environment it may be short, or empty, and still not be the last. */
export async function listScores(sql: Sql, projectId: number, query: ScoreQuery): Promise<ScorePage> {
  const { environment, limit } = query
  const horizon = environment === undefined ? undefined : await readHorizon(sql, projectId, query)
  const found = await sql<Row[]>`
    select ${scoreColumns(sql)}, s.seq, t.id as "traceId"
    from scores s
    join traces t on t.project_id = s.project_id and t.seq = s.trace_seq
    where ${range(sql, projectId, query)}
      ${environment === undefined ? sql`` : sql`and t.environment = ${environment}`}
      ${horizon === undefined ? sql`` : sql`and (s.created_at, s.seq) >= (${horizon.createdAt}, ${horizon.seq})`}
    order by s.created_at desc, s.seq desc
    limit ${limit + 1}`
  const rows = found.slice(0, limit)
  // Where more matches were found than fit, the last one that fits is the last one examined.
  const last = found.length > limit ? rows.at(-1) : horizon
  return { scores: list(rows.map(row => renderScore(row, row.traceId))), next: last && past(last) }
}
