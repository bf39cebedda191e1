/** Implements `spoor project`. */
import { createHash } from 'node:crypto'
import type { Sql } from 'postgres'
import { AdminError, InputError } from '../admin-error.ts'
import { setUsageTags } from '../store/analytics/usage/tag-keys.ts'
import type { ProjectRow } from '../store/projects/projects.ts'
import * as store from '../store/projects/projects.ts'
import { parseRetention, type Retention } from '../store/projects/retention.ts'
import { setSearch } from '../store/search/state.ts'
import { chooseAccount } from './accounts.ts'
import { checkText } from './text.ts'

/**
 * A project in the form that the API returns (specification 2.8), without the calling key's scopes. `search` (whether
 * the project's traces are searchable by words) and `retention` are not part of the API.
 */
export interface DescribedProject extends Omit<ProjectRow, 'id' | 'accountId' | 'storageLimit' | 'retention'> {
  readonly id: string
  readonly accountId: string
  readonly storage: { readonly limitBytes: number; readonly level: StorageLevel }
  /** How long `spoor retention run` keeps traces; null if there is no limit. */
  readonly retention: Retention | null
}

export interface ProjectRequest {
  readonly name: string
  /** The project's slug; defaults to a slug derived from the name. */
  readonly slug?: string | undefined
  readonly description?: string | undefined
  /** Id of the account; defaults to the oldest owner account. */
  readonly accountId?: string | undefined
  /** Storage limit in bytes; defaults to the server's STORAGE_LIMIT_BYTES. */
  readonly storageLimitBytes?: number | undefined
  readonly search?: boolean | undefined
}

const SLUG = /^[a-z0-9][a-z0-9_-]{0,63}$/

export async function createProject(sql: Sql, defaultLimitBytes: number, request: ProjectRequest) {
  const name = checkText('the name', request.name, 1, 200)
  const slug = request.slug ?? slugOf(name)
  checkSlug(slug)
  const id = await store.insertProject(sql, {
    accountId: await chooseAccount(sql, request.accountId),
    name,
    slug,
    description: checkText('the description', request.description ?? '', 0, 2000),
    storageLimit: request.storageLimitBytes ?? null
  })
  if (id === undefined) throw slugTaken(slug)
  if (request.search) await switchSearch(sql, id, true)
  return describeProject((await store.readProject(sql, id))!, defaultLimitBytes)
}

/** Changes to a project. An undefined field stays unchanged. */
export interface ProjectUpdate extends Omit<Partial<ProjectRequest>, 'name' | 'storageLimitBytes'> {
  readonly name?: string | undefined
  /** New storage limit in bytes; null restores the server's STORAGE_LIMIT_BYTES. */
  readonly storageLimitBytes?: number | null | undefined
  /** Keys of tags by which usage is summed; at most MOST_USAGE_TAGS. */
  readonly usageTags?: readonly string[] | undefined
}

/** Maximum number of keys of tags by which a project's usage is summed. */
const MOST_USAGE_TAGS = 5
const MOST_KEY_CHARACTERS = 100

function checkUsageTags(keys: readonly string[]): void {
  if (keys.length > MOST_USAGE_TAGS) throw new InputError(`at most ${MOST_USAGE_TAGS} tag keys are allowed`)
  for (const key of keys) {
    if (key.length >= 1 && key.length <= MOST_KEY_CHARACTERS && !key.includes(':')) continue
    const rule = `1 to ${MOST_KEY_CHARACTERS} characters, without a colon`
    throw new InputError(`a tag key must be ${rule}, not ${JSON.stringify(key)}`)
  }
}

const switchSearch = (sql: Sql, projectId: number, search: boolean) =>
  setSearch(sql, projectId, search, { by: null, action: 'project.update', projectId, detail: { search } })

export async function updateProject(
  sql: Sql,
  defaultLimitBytes: number,
  project: string,
  update: ProjectUpdate
): Promise<DescribedProject> {
  const { name, slug, description, accountId, storageLimitBytes: storageLimit, search, usageTags } = update
  if (Object.values(update).every(value => value === undefined)) throw new InputError('specify at least one change')
  const id = await requireProject(sql, project)
  if (slug !== undefined) checkSlug(slug)
  if (usageTags !== undefined) checkUsageTags(usageTags)
  const changes = {
    name: name === undefined ? undefined : checkText('the name', name, 1, 200),
    slug,
    description: description === undefined ? undefined : checkText('the description', description, 0, 2000),
    accountId: accountId === undefined ? undefined : await chooseAccount(sql, accountId),
    storageLimit
  }
  if (Object.values(changes).some(value => value !== undefined)) {
    const audit = { by: null, action: 'project.update', projectId: id, detail: changes } as const
    if ((await store.writeProject(sql, id, changes, audit)) === 'taken') throw slugTaken(slug ?? '')
  }
  if (search !== undefined) await switchSearch(sql, id, search)
  if (usageTags !== undefined) {
    const detail = { usageTags }
    await setUsageTags(sql, id, usageTags, { by: null, action: 'project.update', projectId: id, detail })
  }
  const row = await store.readProject(sql, id)
  if (row === undefined) throw new AdminError(`project ${project} has just been deleted`)
  return describeProject(row, defaultLimitBytes)
}

export async function listProjects(sql: Sql, defaultLimitBytes: number): Promise<DescribedProject[]> {
  return (await store.readProjects(sql)).map(row => describeProject(row, defaultLimitBytes))
}

/** Returns the project's id. Throws an AdminError with advice if no project has this slug. */
export async function requireProject(sql: Sql, slug: string): Promise<number> {
  const id = await store.findProject(sql, slug)
  if (id === undefined) throw new AdminError(`there is no project ${JSON.stringify(slug)}: see \`spoor project list\``)
  return id
}

/** Throws an InputError if the slug breaks the rules for slugs. `flag` names the flag that sets the slug. */
export function checkSlug(slug: string, flag = '--slug'): void {
  if (SLUG.test(slug)) return
  const rule = '1 to 64 lower-case letters, digits, hyphens or underscores, beginning with a letter or digit'
  throw new InputError(`the slug must be ${rule}, not ${JSON.stringify(slug)}: set it with ${flag}`)
}

const slugTaken = (slug: string) =>
  new AdminError(`the slug ${slug} is already used by another project: choose another with --slug`)

/**
 * Derives a slug: `Köln Süd, 2` becomes `koln-sud-2`. A name without a–z letters or digits becomes `project-` plus
 * digits derived from the name.
 */
function slugOf(name: string): string {
  const slug = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 64)
    .replace(/^-+|-+$/g, '')
  return slug === '' ? `project-${createHash('sha256').update(name).digest('hex').slice(0, 8)}` : slug
}

/**
 * Describes a project in the form that the API and the commands show. `defaultLimitBytes` applies if the project has no
 * limit.
 */
export function describeProject(row: ProjectRow, defaultLimitBytes: number): DescribedProject {
  const limitBytes = row.storageLimit ?? defaultLimitBytes
  return {
    id: String(row.id),
    accountId: String(row.accountId),
    name: row.name,
    slug: row.slug,
    description: row.description,
    traceCount: row.traceCount,
    spanCount: row.spanCount,
    estimatedBytes: row.estimatedBytes,
    lastTraceAt: row.lastTraceAt,
    createdAt: row.createdAt,
    search: row.search,
    retention: parseRetention(row.retention),
    storage: { limitBytes, level: storageLevel(row.estimatedBytes, limitBytes) }
  }
}

type StorageLevel = 'ok' | 'warning' | 'critical'

/** Returns `warning` from 80 % of the limit, and `critical` from 95 %. Writes continue at any level. */
function storageLevel(bytes: number, limitBytes: number): StorageLevel {
  if (bytes >= limitBytes * 0.95) return 'critical'
  return bytes >= limitBytes * 0.8 ? 'warning' : 'ok'
}
