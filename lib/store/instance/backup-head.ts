/**
 * Reads a backup's contents except traces, such as accounts, projects, users and permissions. Backups exclude sessions,
 * sign-in links, password attempts and data derived from traces (totals, families, ranking floors).
 */
import type { Sql } from 'postgres'
import type { Role } from '../../schema/roles.ts'
import type { Scope } from '../../schema/scopes.ts'
import type { AccountType } from '../projects/accounts.ts'
import { type ModelPrice, type PriceRow, readPrices } from '../projects/prices.ts'
import { type BackupUser, readUsers } from './users.ts'

export interface BackupAccount {
  readonly id: number
  readonly name: string
  readonly type: AccountType
  readonly trialUsed: number
  readonly createdAt: string
}

export interface BackupView {
  /** The view's user; null for a shared view. */
  readonly userId: number | null
  readonly name: string
  readonly page: string
  readonly query: string
  readonly createdAt: string
}

export interface BackupProject {
  readonly id: number
  readonly accountId: number
  readonly name: string
  readonly slug: string
  readonly description: string
  readonly storageLimit: number | null
  readonly createdAt: string
  readonly views?: BackupView[]
  readonly prices?: ModelPrice[]
  readonly search?: boolean
}

export interface BackupMember {
  readonly accountId: number
  readonly userId: number
  readonly role: Role
  /** Whether an OpenID Connect provider granted the role. Absent in backups made before providers were supported. */
  readonly byClaim?: boolean
  readonly createdAt: string
}

export interface BackupKey {
  readonly id: string
  readonly projectId: number
  readonly label: string
  readonly scopes: readonly Scope[] | null
  readonly environment: string | null
  /** The secret's digest, in hexadecimal. */
  readonly digest: string
  readonly createdAt: string
  readonly expiresAt: string | null
  readonly lastUsedAt: string | null
  readonly revokedAt: string | null
}

/** The fingerprint of a KEY_DIGEST_SECRET and its salt, both in hexadecimal. */
export interface BackupSecret {
  readonly salt: string
  readonly fingerprint: string
  readonly madeAt: string
}

/** Parts of an instance that are small enough to hold in memory. */
export interface InstanceHead {
  /** Fingerprint of KEY_DIGEST_SECRET; null if no key was ever created. */
  readonly secret: BackupSecret | null
  /** Prices that apply to all projects. */
  readonly prices: readonly ModelPrice[]
  readonly accounts: readonly BackupAccount[]
  readonly projects: readonly BackupProject[]
  readonly users: readonly BackupUser[]
  readonly members: readonly BackupMember[]
  readonly keys: readonly BackupKey[]
}

export async function readHead(sql: Sql): Promise<InstanceHead> {
  const [secret = null] = await sql<BackupSecret[]>`
    select salt, fingerprint, made_at as "madeAt" from key_digest_secret`
  const prices = groupBy(await readPrices(sql), ({ projectId }) => projectId, priceOf)
  return {
    secret,
    prices: prices.get(null) ?? [],
    accounts: await sql<BackupAccount[]>`
      select id, name, type, trial_used as "trialUsed", created_at as "createdAt" from accounts order by id`,
    projects: await readProjects(sql, prices),
    users: await readUsers(sql),
    members: await sql<BackupMember[]>`
      select account_id as "accountId", user_id as "userId", role, by_claim as "byClaim", created_at as "createdAt"
      from memberships order by account_id, user_id`,
    keys: await sql<BackupKey[]>`
      select id, project_id as "projectId", label, scopes, environment, digest, created_at as "createdAt",
        expires_at as "expiresAt", last_used_at as "lastUsedAt", revoked_at as "revokedAt"
      from api_keys order by id`
  }
}

const priceOf = ({ id: _, projectId: __, ...price }: PriceRow): ModelPrice => price

async function readProjects(sql: Sql, prices: ReadonlyMap<number | null, ModelPrice[]>): Promise<BackupProject[]> {
  const projects = await sql<BackupProject[]>`
    select id, account_id as "accountId", name, slug, description, storage_limit as "storageLimit",
      created_at as "createdAt", search
    from projects order by id`
  const rows = await sql<(BackupView & { projectId: number })[]>`
    select project_id as "projectId", user_id as "userId", name, page, query, created_at as "createdAt"
    from saved_views order by id`
  const views = groupBy(
    rows,
    ({ projectId }) => projectId,
    ({ projectId: _, ...view }) => view
  )
  return projects.map(project => {
    const [ownViews, ownPrices] = [views.get(project.id), prices.get(project.id)]
    return { ...project, ...(ownViews && { views: ownViews }), ...(ownPrices && { prices: ownPrices }) }
  })
}

function groupBy<T, K, V>(items: readonly T[], keyOf: (item: T) => K, toValue: (item: T) => V): Map<K, V[]> {
  const groups = new Map<K, V[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [toValue(item)])
    else group.push(toValue(item))
  }
  return groups
}

/** Number of a project's traces, and the sums of their stored span and score counts. */
export interface ProjectCounts {
  readonly traces: number
  readonly spans: number
  readonly scores: number
}

export async function countProject(sql: Sql, projectId: number): Promise<ProjectCounts> {
  const [row] = await sql<[ProjectCounts]>`
    select count(*) as traces, coalesce(sum(span_count), 0)::bigint as spans,
      coalesce(sum(score_count), 0)::bigint as scores
    from traces where project_id = ${projectId}`
  return row
}
