/**
 * News are amounts that rollups do not have yet. New and changed traces write theirs by COPY
 * (lib/store/write/copy-batch.ts). Other statements that take traces away or move them return their news, added up, and
 * a second statement of the same transaction writes them: test/fixtures/statements/lint.ts allows no insert beside a
 * deletion.
 */
import type { Sql } from 'postgres'
import { AMOUNTS, type Amount, amountsInSql } from '../../../rollups/amounts.ts'

/** Hours and days begin at multiples of their length from here, in UTC. */
export const ORIGIN = `'2000-01-01T00:00:00Z'::timestamptz`
export const hourOf = (time: string): string => `date_bin('1 hour', ${time}, ${ORIGIN})`
export const dayOf = (time: string): string => `date_bin('1 day', ${time}, ${ORIGIN})`

/** A sum that is held within what a bigint can be. Counts of traces never come near it. */
export const held = (name: Amount, sum: string): string =>
  WIDE.includes(name) ? `greatest(least(${sum}, ${MOST}), -${MOST})::bigint` : sum
const WIDE: readonly Amount[] = ['input_tokens', 'output_tokens', 'cost']
const MOST = '9000000000000000000'

/** The columns of rollup_news after the project. */
export const NEWS = ['started_at', 'family', 'name', 'user_id', ...AMOUNTS] as const
/** The amounts of rows that are added up. */
export const SUMS = AMOUNTS.map(name => `sum(${name}) as ${name}`).join(', ')
/** The condition that there is something of a group to tell. */
export const ANYTHING = AMOUNTS.map(name => `sum(${name}) <> 0`).join(' or ')

/** SQL of the columns of news, without the project, of ended traces. */
export function newsInSql(trace: string, one: 1 | -1, family = `${trace}.family`): string {
  const amounts = amountsInSql(trace, one)
  const cells = AMOUNTS.map(name => `${amounts[name]} as ${name}`).join(', ')
  const hour = hourOf(`${trace}.started_at`)
  return `${hour} as started_at, ${family} as family, ${trace}.name, ${trace}.user_id, ${cells}`
}

/** The columns of traces that news are made of, as a deletion returns them. */
export const NEWS_SOURCES =
  'started_at, ended_at, duration_ms, name, user_id, status, family, input_tokens, output_tokens, cost_usd'

/**
 * SQL of news as a JSON text, hour by hour. `news` is a query of rows as newsInSql gives them. Null if there are none.
 */
export const newsAsJson = (news: string): string => `(
  select json_agg(told)::text from (
    select started_at, family, name, user_id, ${SUMS} from (${news}) each
    group by started_at, family, name, user_id having ${ANYTHING}
  ) told)`

/** Writes news that newsAsJson has given. To be called in the transaction of that statement. */
export async function addNews(sql: Sql, projectId: number, news: string | null): Promise<void> {
  if (news !== null) await sql.unsafe(ADD_NEWS, [projectId, news], { prepare: true })
}

const TYPES: Readonly<Record<(typeof NEWS)[number], string>> = {
  started_at: 'timestamptz',
  family: 'bigint',
  name: 'text',
  user_id: 'text',
  traces: 'int',
  errors: 'int',
  priced: 'int',
  input_tokens: 'numeric',
  output_tokens: 'numeric',
  cost: 'numeric',
  latency: 'numeric'
}
const ADD_NEWS = `
  insert into rollup_news (project_id, ${NEWS.join(', ')})
  select $1::int, ${NEWS.join(', ')} from json_to_recordset($2::json) as told (
    ${NEWS.map(name => `${name} ${TYPES[name]}`).join(', ')})`

/** How many rows wait to be folded, of all projects. */
export async function countNews(sql: Sql): Promise<number> {
  const [row] = await sql<[{ rows: number }]>`select count(*) as rows from rollup_news`
  return row.rows
}
