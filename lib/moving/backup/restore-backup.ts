/**
 * Implements `spoor restore`. Traces are validated and stored as in any import. Each finished project is read back, and
 * the lines read must have the SHA-256 that the backup records. Keys, memberships and passwords come last, in the
 * transaction that ends the restore, so that nobody can sign in or use a key before then.
 */
import { createHash } from 'node:crypto'
import type { Sql } from 'postgres'
import { AdminError } from '../../admin-error.ts'
import { readSchemaState } from '../../database/migrate.ts'
import type { Pool } from '../../database/pool.ts'
import type { WritePath } from '../../ingest/write-path.ts'
import { isStoredPassword } from '../../people/passwords.ts'
import { noteSystemUser } from '../../store/audit.ts'
import type { InstanceHead } from '../../store/instance/backup-head.ts'
import { insertAudit, setAuthors } from '../../store/instance/long-tables.ts'
import * as progress from '../../store/instance/restoration.ts'
import * as store from '../../store/instance/restored-rows.ts'
import { isOtherSecret, matches } from '../../store/projects/digest-secret.ts'
import { addMessages } from '../../store/trace/messages.ts'
import { exportPages } from '../export-project.ts'
import { importValues } from '../import-file.ts'
import type { SplitValue } from '../json-splitter.ts'
import { addSums, type BackupCounts, type Manifest, noSums, type ProjectSum, SUMMED } from './format.ts'
import { type BackupLine, Lines } from './read-backup.ts'

export interface RestoreTarget {
  readonly pool: Pool
  readonly path: WritePath
  /** The configured KEY_DIGEST_SECRET, if any. */
  readonly digestSecret: string | undefined
}

export interface RestoreOptions {
  /** Whether to add the backup's rows to existing rows, under new ids. */
  readonly into: boolean
  /**
   * Whether to revoke all restored keys. Required if the backup's keys and the existing keys were made with different
   * secrets.
   */
  readonly revokeKeys: boolean
  /** The operating-system user who runs the restore. */
  readonly systemUser?: string
  readonly onProgress?: (traces: number, expected: number) => void
  readonly signal?: AbortSignal
}

export interface Restored {
  readonly counts: BackupCounts
  /** Whether this restore continued an earlier, interrupted restore of the same backup. */
  readonly resumed: boolean
  /** Whether the backup's keys were made with a KEY_DIGEST_SECRET other than the configured secret. */
  readonly otherSecret: boolean
}

interface Head extends Omit<InstanceHead, 'secret' | 'prices'> {
  readonly manifest: Manifest
}

export async function restoreBackup(
  target: RestoreTarget,
  source: AsyncIterable<BackupLine>,
  options: RestoreOptions
): Promise<Restored> {
  const lines = new Lines(source)
  return target.pool.run(async sql => {
    if (!(await progress.lockRestore(sql))) throw new AdminError('another restore into this database is under way')
    try {
      return await new Restore(target, options, lines).run()
    } finally {
      await lines.close()
      await progress.unlockRestore(sql)
    }
  })
}

class Restore {
  readonly #target: RestoreTarget
  readonly #options: RestoreOptions
  readonly #lines: Lines
  #traces = 0

  constructor(target: RestoreTarget, options: RestoreOptions, lines: Lines) {
    this.#target = target
    this.#options = options
    this.#lines = lines
  }

  async run(): Promise<Restored> {
    const { pool } = this.#target
    const head = await this.#readHead()
    const { id } = head.manifest
    await this.#requireSchema(head.manifest)
    const earlier = await pool.run(sql => progress.readRestoration(sql, id))
    if (earlier?.ended) throw new AdminError('this backup is restored in this database already')
    checkReferences(head)
    checkPeople(head)
    if (earlier === undefined) await this.#requireRoom(head)
    const otherSecret = await this.#isOtherSecret(head)
    const into = earlier?.restoration.into ?? this.#options.into
    if (into && otherSecret && head.keys.length > 0 && !this.#options.revokeKeys) throw otherSecretBeside()
    const restoration =
      earlier?.restoration ?? (await this.#transaction(sql => store.beginRestore(sql, id, into, head)))
    for await (const { project } of this.#lines.all('traces')) await this.#restoreProject(project, head, restoration)
    const counts = await this.#end(head, restoration)
    return { counts, resumed: earlier !== undefined, otherSecret: otherSecret && !this.#options.revokeKeys }
  }

  async #readHead(): Promise<Head> {
    const manifest = await this.#lines.take('backup')
    if (manifest === undefined) throw new AdminError('the backup is empty')
    return {
      manifest,
      accounts: await this.#lines.list('account'),
      projects: await this.#lines.list('project'),
      users: await this.#lines.list('user'),
      members: await this.#lines.list('member'),
      keys: await this.#lines.list('key')
    }
  }

  /** A later schema may hold data that this version would not restore, even in the same format. */
  async #requireSchema({ schema, spoor }: Manifest): Promise<void> {
    const { latest } = await this.#target.pool.run(sql => readSchemaState(sql))
    if (schema <= latest) return
    throw new AdminError(
      `the backup was made by spoor ${spoor} with schema ${schema}, and this one knows none later than ${latest}: update spoor`
    )
  }

  async #requireRoom(head: Head): Promise<void> {
    const occupation = await this.#target.pool.run(sql => progress.readOccupation(sql, head))
    const { accounts, projects, users, slugs, keys } = occupation
    if (!this.#options.into && accounts + projects + users > 0) {
      throw new AdminError(
        `the database is not empty (projects: ${projects}): restore into a new one, or give --into to restore beside them`
      )
    }
    if (slugs.length > 0) {
      const advice = 'change it with `spoor project update SLUG --slug OTHER`, here or there'
      throw new AdminError(`the slug ${slugs.join(', ')} is taken by another project here: ${advice}`)
    }
    if (keys.length > 0) throw new AdminError(`the key ${keys[0]} is here already: the backup is of this database`)
  }

  /**
   * Whether the configured secret differs from the secret of the backup's keys or, with `into`, from the secret of the
   * existing keys.
   */
  async #isOtherSecret({ manifest: { secret } }: Head): Promise<boolean> {
    const { digestSecret, pool } = this.#target
    if (secret === null) return false
    if (digestSecret === undefined) return true
    const fingerprint = { salt: Buffer.from(secret.salt, 'hex'), fingerprint: Buffer.from(secret.fingerprint, 'hex') }
    if (!(await matches(fingerprint, digestSecret))) return true
    return this.#options.into && (await pool.run(sql => isOtherSecret(sql, digestSecret)))
  }

  async #restoreProject(project: number, head: Head, restoration: progress.Restoration): Promise<void> {
    const { pool } = this.#target
    const own = restoration.projects.get(project)
    if (own === undefined) throw new AdminError(`the backup has traces of project ${project}, but not the project`)
    await this.#importTraces(own, head)
    for await (const messages of this.#lines.batches('messages')) {
      await pool.run(sql => addMessages(sql, own, messages))
    }
    for await (const authors of this.#lines.batches('author')) {
      await pool.run(sql => setAuthors(sql, own, authors, restoration.users))
    }
    const sum = await this.#lines.take('sum')
    if (sum !== undefined) await this.#verify(own, sum)
  }

  async #importTraces(projectId: number, { manifest }: Head): Promise<void> {
    const { signal, onProgress } = this.#options
    const before = this.#traces
    let problem: string | undefined
    const lines = this.#lines
    async function* values(): AsyncGenerator<SplitValue> {
      for await (const value of lines.all('trace')) {
        if (problem !== undefined) return
        yield value
      }
    }
    await importValues(this.#target.path, projectId, values(), {
      onProblem: (place, reason) => {
        problem ??= `${place} of the backup cannot be restored: ${reason}`
      },
      onProgress: ({ traces }) => {
        this.#traces = before + traces
        onProgress?.(this.#traces, manifest.counts.traces)
      },
      ...(signal && { signal })
    })
    if (problem !== undefined) throw new AdminError(problem)
  }

  /** Reads a restored project as a backup would, and compares the counts and hash with `sum`. */
  async #verify(projectId: number, sum: ProjectSum): Promise<void> {
    const hash = createHash('sha256')
    const found = noSums()
    await this.#target.pool.run(async sql => {
      for await (const page of exportPages(sql, projectId)) {
        hash.update(page.lines)
        addSums(found, page)
      }
    })
    for (const name of SUMMED) {
      if (found[name] !== sum[name]) throw differs(sum.project, `it has ${found[name]} ${name} instead of ${sum[name]}`)
    }
    if (hash.digest('hex') !== sum.sha256)
      throw differs(sum.project, 'its traces are not the same when they are read back')
  }

  /** Stores the audit entries and enables sign-ins and keys. Commits only if the backup proves complete. */
  async #end(
    { manifest, projects, users, members, keys }: Head,
    restoration: progress.Restoration
  ): Promise<BackupCounts> {
    const { revokeKeys } = this.#options
    const known = restoration.into && (await this.#target.pool.run(sql => progress.hasFingerprint(sql)))
    const secret = known ? undefined : (manifest.secret ?? undefined)
    return this.#transaction(async sql => {
      for await (const entries of this.#lines.batches('act')) {
        await insertAudit(sql, entries, restoration)
      }
      const prices = manifest.prices ?? []
      await store.endRestore(sql, restoration, { prices, projects, users, members, keys, secret, revokeKeys })
      const end = await this.#lines.take('end')
      // Reading past the end detects trailing bytes.
      if (end === undefined || (await this.#lines.peek()) !== undefined) throw new AdminError('the backup has no end')
      return end.counts
    })
  }

  /** Runs a transaction whose audit entries name the user who runs the restore. */
  async #transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const { systemUser } = this.#options
    return this.#target.pool.transaction(async sql => {
      if (systemUser !== undefined) await noteSystemUser(sql, systemUser)
      return work(sql)
    })
  }
}

/** Throws an AdminError if an item refers to something that is not in the backup. */
function checkReferences({ accounts, projects, users, members, keys }: Head): void {
  const ids = (items: readonly { readonly id: number }[]) => new Set(items.map(({ id }) => id))
  const [accountIds, projectIds, userIds] = [ids(accounts), ids(projects), ids(users)]
  const isWhole =
    projects.every(({ accountId }) => accountIds.has(accountId)) &&
    projects.every(({ views = [] }) => views.every(({ userId }) => userId === null || userIds.has(userId))) &&
    members.every(({ accountId, userId }) => accountIds.has(accountId) && userIds.has(userId)) &&
    keys.every(({ projectId }) => projectIds.has(projectId))
  if (!isWhole) throw new AdminError('the backup is damaged: something in it belongs to nothing in it')
}

/** Throws an AdminError if a row occurs twice or a password is malformed. */
function checkPeople({ manifest, accounts, projects, users, members, keys }: Head): void {
  const lists: [string, readonly (string | number)[]][] = [
    ['account', accounts.map(({ id }) => id)],
    ['project', projects.map(({ id }) => id)],
    ['project', projects.map(({ slug }) => slug)],
    ['user', users.map(({ id }) => id)],
    ['user', users.map(({ email }) => email)],
    ['membership of account and user', members.map(({ accountId, userId }) => `${accountId} ${userId}`)],
    ['key', keys.map(({ id }) => id)],
    [
      'identity',
      users.flatMap(({ identities = [] }) => identities.map(({ issuer, subject }) => `${issuer} ${subject}`))
    ],
    ...[manifest, ...projects].map(({ prices = [] }): [string, readonly string[]] => [
      'price',
      prices.map(({ model, from }) => `${model} ${from}`)
    ]),
    [
      'score definition',
      projects.flatMap(({ slug, scoreDefinitions = [] }) => scoreDefinitions.map(({ name }) => `${slug} ${name}`))
    ],
    ['view', projects.flatMap(({ slug, views = [] }) => views.map(view => `${slug} ${view.userId} ${view.name}`))]
  ]
  for (const [kind, names] of lists) {
    const seen = new Set<string | number>()
    const twice = names.find(name => seen.size === seen.add(name).size)
    if (twice !== undefined) throw new AdminError(`the backup is damaged: it has the ${kind} ${twice} twice`)
  }
  const wrong = users.find(({ password }) => password !== null && !isStoredPassword(password))
  if (wrong !== undefined) {
    throw new AdminError(`the backup is damaged: the password of ${wrong.email} is not one that spoor stores`)
  }
}

const differs = (project: number, reason: string) =>
  new AdminError(`project ${project} of the backup is not restored as it was: ${reason}`)

const otherSecretBeside = () =>
  new AdminError(
    'the keys of the backup were made with another KEY_DIGEST_SECRET, and cannot work beside those of this one: give ' +
      '--revoke-keys to restore them revoked'
  )
