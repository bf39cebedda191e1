/** Model prices set by operators, and models whose calls have no price. */
import type { Sql } from 'postgres'
import type { OwnPrice } from '../../trace/prices/own.ts'
import { type AuditEntry, auditStep } from '../audit.ts'
import { KEYS_CHANNEL } from './keys.ts'

/**
 * Maximum number of models without a price stored per project. The number is limited because senders choose the names.
 */
export const MOST_UNPRICED = 200

/** A model's prices in US dollars per million tokens. */
export interface ModelPrice {
  readonly model: string
  /** Time from which the price applies; null if the price has always applied. */
  readonly from: string | null
  readonly input: number
  readonly output: number
  /** Price of cached input tokens; null if they cost as much as other input tokens. */
  readonly cacheRead: number | null
  readonly cacheWrite: number | null
}

export interface PriceRow extends ModelPrice {
  readonly id: number
  /** The price's project; null for a price that applies to all projects. */
  readonly projectId: number | null
}

export interface UnpricedModel {
  readonly projectId: number
  readonly model: string
  readonly calls: number
  readonly lastAt: string
}

/**
 * Identifies all prices of a model or, if `from` is set, the price that applies from this time. For the price that has
 * always applied, `from` is null.
 */
export interface PriceName {
  readonly projectId: number | null
  readonly model: string
  readonly from?: string | null | undefined
}

const columns = (sql: Sql) => sql`
  id, project_id as "projectId", model, valid_from as "from", input, output, cache_read as "cacheRead",
  cache_write as "cacheWrite"`

/**
 * Returns SQL that announces a price change. The payload contains spaces, so it cannot be mistaken for a key id
 * (lib/store/projects/keys.ts).
 */
const announcement = (sql: Sql) => sql`pg_notify(${KEYS_CHANNEL}, 'prices have changed')`

/**
 * Returns the project's own prices and the prices that apply to all projects. Without `projectId`, returns all stored
 * prices.
 */
export async function readPrices(sql: Sql, projectId?: number): Promise<PriceRow[]> {
  return sql<PriceRow[]>`
    select ${columns(sql)} from model_prices
    ${projectId === undefined ? sql`` : sql`where project_id = ${projectId} or project_id is null`}
    order by project_id nulls first, model, valid_from nulls first`
}

/** Returns the prices that apply to a project, in the form used to compute costs. */
export const ownPricesOf = (rows: readonly PriceRow[], projectId: number | null): OwnPrice[] =>
  rows
    .filter(row => row.projectId === null || row.projectId === projectId)
    .map(({ projectId: of, cacheRead, cacheWrite, ...price }) => ({
      ...{ model: price.model, from: price.from, input: price.input, output: price.output },
      ...(cacheRead !== null && { cacheRead }),
      ...(cacheWrite !== null && { cacheWrite }),
      isOfProject: of !== null
    }))

/**
 * Stores a price, replacing a price with the same start time. Also removes the model from the list of models without a
 * price.
 */
export async function storePrice(
  sql: Sql,
  projectId: number | null,
  { model, from, input, output, cacheRead, cacheWrite }: ModelPrice,
  audit: AuditEntry
): Promise<PriceRow> {
  const [row] = await sql<[PriceRow]>`
    with stored as (
      insert into model_prices (project_id, model, valid_from, input, output, cache_read, cache_write)
      values (${projectId}, ${model}, ${from}, ${input}, ${output}, ${cacheRead}, ${cacheWrite})
      on conflict (project_id, model, valid_from) do update
        set input = excluded.input, output = excluded.output, cache_read = excluded.cache_read,
          cache_write = excluded.cache_write
      returning *, ${announcement(sql)}
    ), priced as (
      delete from unpriced_models u using stored s
      where u.model = s.model and (s.project_id is null or u.project_id = s.project_id)
    )
    ${auditStep(sql, audit, sql`stored`)}
    select ${columns(sql)} from stored`
  return row
}

const named = (sql: Sql, { projectId, model, from }: PriceName) => sql`
  project_id is not distinct from ${projectId}::int and model = ${model}
    ${from === undefined ? sql`` : sql`and valid_from is not distinct from ${from}::timestamptz`}`

export const findPrices = (sql: Sql, name: PriceName) =>
  sql<PriceRow[]>`select ${columns(sql)} from model_prices where ${named(sql, name)} order by valid_from nulls first`

/** Deletes prices and returns them. */
export async function deletePrices(sql: Sql, name: PriceName, audit: AuditEntry): Promise<PriceRow[]> {
  return sql<PriceRow[]>`
    with gone as (
      delete from model_prices where ${named(sql, name)}
      returning *, ${announcement(sql)}
    )
    ${auditStep(sql, audit)}
    select ${columns(sql)} from gone order by valid_from nulls first`
}

/** Adds to the counts of calls to models without a price. */
export async function addUnpriced(
  sql: Sql,
  counts: readonly Pick<UnpricedModel, 'projectId' | 'model' | 'calls'>[]
): Promise<void> {
  // The counts are sorted, so that all processes lock the rows in the same order.
  const sorted = [...counts].sort((a, b) => a.projectId - b.projectId || (a.model < b.model ? -1 : 1))
  await sql`
    insert into unpriced_models (project_id, model, calls)
    select n."projectId", n.model, n.calls
    from json_to_recordset(${JSON.stringify(sorted)}::json) as n ("projectId" int, model text, calls bigint)
    join projects p on p.id = n."projectId"
    where exists (select from unpriced_models u where u.project_id = n."projectId" and u.model = n.model)
      or (select count(*) from unpriced_models u where u.project_id = n."projectId") < ${MOST_UNPRICED}
    on conflict (project_id, model) do update
      set calls = unpriced_models.calls + excluded.calls, last_at = now()`
}

/** Returns the models without a price in one project or in all projects, most calls first. */
export async function readUnpriced(sql: Sql, projectId?: number): Promise<UnpricedModel[]> {
  return sql<UnpricedModel[]>`
    select project_id as "projectId", model, calls, last_at as "lastAt" from unpriced_models
    ${projectId === undefined ? sql`` : sql`where project_id = ${projectId}`}
    order by calls desc, model, project_id`
}
