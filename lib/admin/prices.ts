/** Implements `spoor price`, which sets the prices of models. */
import type { Sql } from 'postgres'
import { AdminError, InputError } from '../admin-error.ts'
import { PricedModel, PriceRange } from '../schema/price.ts'
import {
  deletePrices,
  findPrices,
  type ModelPrice,
  type PriceName,
  type PriceRow,
  readPrices,
  readUnpriced,
  storePrice,
  type UnpricedModel
} from '../store/projects/prices.ts'
import { readProjects } from '../store/projects/projects.ts'
import { requireProject } from './projects.ts'
import { checkText } from './text.ts'

/** A price that applies to one project, or to all projects if `project` is null. */
export interface DescribedPrice extends ModelPrice {
  readonly project: string | null
}

export interface DescribedUnpriced extends Omit<UnpricedModel, 'projectId'> {
  readonly project: string
}

export interface PriceListing {
  readonly prices: readonly DescribedPrice[]
  /** Models whose calls have no cost because no price is known. */
  readonly unpriced: readonly DescribedUnpriced[]
}

/** If `project` is undefined, the price applies to all projects. */
export interface PriceRequest {
  readonly project?: string | undefined
  readonly model: string
  readonly from?: string | undefined
  readonly input: number
  readonly output: number
  readonly cacheRead?: number | undefined
  readonly cacheWrite?: number | undefined
}

export async function setPrice(sql: Sql, request: PriceRequest): Promise<DescribedPrice> {
  const { project, from = null, input, output, cacheRead = null, cacheWrite = null } = request
  const model = checkText('the model', request.model, PricedModel.minLength, PricedModel.maxLength)
  const prices = { input, output, cacheRead, cacheWrite }
  for (const price of Object.values(prices)) {
    if (price === null || (price >= PriceRange.minimum && price <= PriceRange.maximum)) continue
    throw new InputError(`a price must be from 0 to ${PriceRange.maximum} US dollars per million tokens, not ${price}`)
  }
  const projectId = project === undefined ? null : await requireProject(sql, project)
  const detail = { model, from, ...prices }
  const row = await storePrice(sql, projectId, detail, { by: null, action: 'price.set', projectId, detail })
  return describe(row, new Map([[projectId, project ?? null]]))
}

/**
 * Returns the prices that apply to all projects, and the given project's own prices. Without `project`, returns every
 * project's own prices.
 */
export async function listPrices(sql: Sql, project?: string): Promise<PriceListing> {
  const projectId = project === undefined ? undefined : await requireProject(sql, project)
  const slugs = new Map<number | null, string>((await readProjects(sql)).map(({ id, slug }) => [id, slug]))
  const unpriced = await readUnpriced(sql, projectId)
  return {
    prices: (await readPrices(sql, projectId)).map(row => describe(row, slugs)),
    unpriced: unpriced.map(({ projectId, ...each }) => ({ project: slugs.get(projectId) ?? '', ...each }))
  }
}

/** If `from` is undefined, removes all prices of the model; if null, removes only the price without a start time. */
export interface PriceRemoval extends Omit<PriceName, 'projectId'> {
  readonly project?: string | undefined
}

/** Removes the prices, or with `dryRun` only returns them. */
export async function removePrices(
  sql: Sql,
  { project, model, from }: PriceRemoval,
  dryRun = false
): Promise<DescribedPrice[]> {
  const projectId = project === undefined ? null : await requireProject(sql, project)
  const detail = { model, ...(from !== undefined && { from }) }
  const audit = { by: null, action: 'price.remove', projectId, detail } as const
  const name = { projectId, model, from }
  const gone = dryRun ? await findPrices(sql, name) : await deletePrices(sql, name, audit)
  if (gone.length === 0) {
    const where = project === undefined ? '' : ` in project ${project}`
    throw new AdminError(`there is no matching price for ${JSON.stringify(model)}${where}: see \`spoor price list\``)
  }
  return gone.map(row => describe(row, new Map([[projectId, project ?? null]])))
}

function describe({ id: _, projectId, ...price }: PriceRow, slugs: ReadonlyMap<number | null, string | null>) {
  return { project: slugs.get(projectId) ?? null, ...price }
}
