/**
 * Reads a backup's contents except traces, such as accounts, projects, users and permissions. Backups exclude sessions,
 * sign-in links, public links, review leases, password attempts and data derived from traces (totals, families, ranking
 * floors).
 */
import type { Sql } from 'postgres'
import type { Role } from '../../schema/roles.ts'
import type { ScoreDefinition } from '../../schema/score-definition.ts'
import type { UserRow } from '../people/users.ts'
import { type AccountRow, readAccounts } from '../projects/accounts.ts'
import type { KeyRow } from '../projects/keys.ts'
import { type ModelPrice, type PriceRow, readPrices } from '../projects/prices.ts'
import type { NewProject } from '../projects/projects.ts'
import { RETENTION_COLUMN } from '../projects/retention.ts'
import type { View } from '../projects/saved-views.ts'

export interface BackupView extends Omit<View, 'shared'> {
  /** The view's user; null for a shared view. */
  readonly userId: number | null
  readonly createdAt: string
}

export interface BackupProject extends NewProject {
  readonly id: number
  readonly createdAt: string
  readonly views?: BackupView[]
  readonly prices?: ModelPrice[]
  readonly scoreDefinitions?: ScoreDefinition[]
  readonly search?: boolean
  readonly usageTags?: string[]
  readonly retention?: { days: number; keepsScored: boolean; keepsTags: string[] }
}

export interface BackupMember {
  readonly accountId: number
  readonly userId: number
  readonly role: Role
  /** Whether an OpenID Connect provider granted the role. Absent in backups made before providers were supported. */
  readonly byClaim?: boolean
  readonly createdAt: string
}

export interface BackupKey extends Omit<KeyRow, 'projectSlug'> {
  /** The secret's digest, in hexadecimal. */
  readonly digest: string
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
  const prices = groupByProject(await readPrices(sql), ({ id: _, projectId: __, ...price }: PriceRow) => price)
  return {
    secret,
    prices: prices.get(null) ?? [],
    accounts: await readBackupAccounts(sql),
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

export interface BackupAccount extends AccountRow {
  /** Absent if the account requires no second factor. */
  readonly requiresFactor?: boolean
}

async function readBackupAccounts(sql: Sql): Promise<BackupAccount[]> {
  const strict = await sql<{ id: number }[]>`select id from accounts where requires_factor`
  const ids = new Set(strict.map(({ id }) => id))
  return (await readAccounts(sql)).map(account =>
    ids.has(account.id) ? { ...account, requiresFactor: true } : account
  )
}

interface Stored {
  readonly usageTags: string[]
  readonly retention: string | null
}

async function readProjects(sql: Sql, prices: ReadonlyMap<number | null, ModelPrice[]>): Promise<BackupProject[]> {
  const projects = await sql<(Omit<BackupProject, 'retention'> & Stored)[]>`
    select id, account_id as "accountId", name, slug, description, storage_limit as "storageLimit",
      created_at as "createdAt", search, usage_tags as "usageTags", ${sql.unsafe(RETENTION_COLUMN)}
    from projects p order by id`
  const rows = await sql<(BackupView & { projectId: number })[]>`
    select project_id as "projectId", user_id as "userId", name, page, query, created_at as "createdAt"
    from saved_views order by id`
  const views = groupByProject(rows, ({ projectId: _, ...view }) => view)
  const defined = await sql<(ScoreDefinition & { projectId: number })[]>`
    select project_id as "projectId", name, data_type as "dataType", minimum, maximum, categories, description
    from score_definitions order by project_id, created_at, name`
  const definitions = groupByProject(defined, ({ projectId: _, ...definition }) => definition)
  return projects.map(({ usageTags, retention, ...project }) => {
    const [ownViews, ownPrices] = [views.get(project.id), prices.get(project.id)]
    const scoreDefinitions = definitions.get(project.id)
    return {
      ...project,
      ...(ownViews && { views: ownViews }),
      ...(ownPrices && { prices: ownPrices }),
      ...(scoreDefinitions && { scoreDefinitions }),
      ...(usageTags.length > 0 && { usageTags }),
      ...(retention && { retention: JSON.parse(retention) })
    }
  })
}

function groupByProject<T extends { readonly projectId: number | null }, V>(
  rows: readonly T[],
  toValue: (row: T) => V
) {
  const groups = new Map<number | null, V[]>()
  for (const row of rows) groups.set(row.projectId, [...(groups.get(row.projectId) ?? []), toValue(row)])
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

export interface BackupUser extends Pick<UserRow, 'id' | 'email' | 'name' | 'createdAt'> {
  /** Stored hash, never the password itself. */
  readonly password: string | null
  /** Identities at OpenID Connect providers. Absent in backups made before identities were stored. */
  readonly identities?: BackupIdentity[]
  /** Time until which an identity can be linked to the user by email address alone (sql/0012-identities.sql). */
  readonly oidcEmailUntil?: string | null
  /** The confirmed second factor, whose secret is encrypted. Absent if there is none. */
  readonly factor?: BackupFactor
}

export interface BackupFactor {
  readonly secret: string
  readonly confirmedAt: string
  /** Digests of the unused recovery codes. */
  readonly recovery: string[]
}

export interface BackupIdentity {
  readonly issuer: string
  readonly subject: string
  readonly linkedAt: string
}

async function readUsers(sql: Sql): Promise<BackupUser[]> {
  const users = await sql<BackupUser[]>`
    select id, email, name, password, created_at as "createdAt", oidc_email_until as "oidcEmailUntil"
    from users order by id`
  const identities = await sql<(BackupIdentity & { userId: number })[]>`
    select user_id as "userId", issuer, subject, linked_at as "linkedAt"
    from oidc_identities order by user_id, issuer, subject`
  const byUser = new Map<number, BackupIdentity[]>(users.map(({ id }) => [id, []]))
  for (const { userId, ...identity } of identities) byUser.get(userId)?.push(identity)
  const factors = await sql<(BackupFactor & { userId: number })[]>`
    select user_id as "userId", secret, confirmed_at as "confirmedAt", recovery
    from second_factors where confirmed_at is not null`
  const factorOf = new Map(factors.map(({ userId, ...factor }) => [userId, factor]))
  return users.map(user => {
    const factor = factorOf.get(user.id)
    return { ...user, identities: byUser.get(user.id) ?? [], ...(factor && { factor }) }
  })
}
