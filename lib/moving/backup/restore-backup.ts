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
import { noteSystemUser } from '../../store/audit.ts'
import { countProject, type ProjectCounts } from '../../store/instance/backup-head.ts'
import { insertAudit, setAuthors } from '../../store/instance/long-tables.ts'
import * as progress from '../../store/instance/restoration.ts'
import * as store from '../../store/instance/restored-rows.ts'
import { isOtherSecret, matches } from '../../store/projects/digest-secret.ts'
import { addMessages } from '../../store/trace/messages.ts'
import { importValues } from '../import-file.ts'
import type { SplitValue } from '../json-splitter.ts'
import { checkPeople, checkReferences, type Head } from './check-head.ts'
import { chooseProject, isPassed, type ProjectChoice } from './chosen-project.ts'
import type { DecodedLine } from './decoded-lines.ts'
import { fitProject } from './fit-project.ts'
import { type BackupCounts, type Manifest, NOTHING, type ProjectSum, SUMMED } from './format.ts'
import { Lines } from './lines.ts'
import { ReadBack } from './read-back.ts'
import { DifferentTraces, PageRestore } from './restore-pages.ts'

export interface RestoreTarget {
  readonly pool: Pool
  readonly path: WritePath
  /** The configured KEY_DIGEST_SECRET, if any. */
  readonly digestSecret: string | undefined
  readonly previousSecret?: string | undefined
}

export interface RestoreOptions {
  /** Whether to add the backup's rows to existing rows, under new ids. */
  readonly into: boolean
  /**
   * Whether to revoke all restored keys. Required if the backup's keys and the existing keys were made with different
   * secrets.
   */
  readonly revokeKeys: boolean
  /** The only project to restore; if undefined, everything is restored. */
  readonly project?: ProjectChoice
  /** Number of stored traces that are read back together; 1,000 by default. */
  readonly stretch?: number
  /** The operating-system user who runs the restore. */
  readonly systemUser?: string
  /** Called with the number of restored traces and, unless a single project is restored, the expected number. */
  readonly onProgress?: (traces: number, expected: number | undefined) => void
  readonly signal?: AbortSignal
}

export interface Restored {
  readonly counts: BackupCounts
  /** Whether this restore continued an earlier, interrupted restore of the same backup. */
  readonly resumed: boolean
  /** Whether the backup's keys were made with a KEY_DIGEST_SECRET other than the configured secret. */
  readonly otherSecret: boolean
  /** The slug of the restored project if a single project was restored. */
  readonly project?: string
  /** Keys of the project that already exist here, and were therefore not restored. */
  readonly keptKeys?: readonly string[]
}

export async function restoreBackup(
  target: RestoreTarget,
  source: AsyncIterable<DecodedLine>,
  options: RestoreOptions
): Promise<Restored> {
  const lines = new Lines(source)
  return target.pool.run(async sql => {
    if (!(await progress.lockRestore(sql))) throw new AdminError('another restore into this database is in progress')
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
    const head = await this.#readHead()
    await this.#requireSchema(head.manifest)
    checkReferences(head)
    checkPeople(head)
    const { project } = this.#options
    return project === undefined ? this.#restoreAll(head) : this.#restoreOne(head, project)
  }

  async #restoreAll(head: Head): Promise<Restored> {
    const { pool } = this.#target
    const { id } = head.manifest
    const earlier = await pool.run(sql => progress.readRestoration(sql, id))
    if (earlier?.ended) throw new AdminError(`this backup has already been restored into this database${ONE_BACK}`)
    if (earlier === undefined) await this.#requireRoom(head)
    const into = earlier?.restoration.into ?? this.#options.into
    const otherSecret = await this.#isOtherSecret(head, into)
    const restoration =
      earlier?.restoration ?? (await this.#transaction(sql => store.beginRestore(sql, id, into, head)))
    for await (const { project } of this.#lines.all('traces')) await this.#restoreProject(project, head, restoration)
    const counts = await this.#end(head, restoration)
    return { counts, resumed: earlier !== undefined, otherSecret }
  }

  /**
   * Restores one project. Until the restore is complete, the project has no keys and another slug, so that it is not
   * mistaken for the whole project.
   */
  async #restoreOne(head: Head, choice: ProjectChoice): Promise<Restored> {
    const { pool } = this.#target
    const chosen = chooseProject(head, choice)
    const found = await pool.run(sql => progress.readProjectRestoration(sql, head.manifest.id, chosen))
    const own = await pool.run(sql => fitProject(sql, chosen, choice.account, found?.projectId))
    const otherSecret = await this.#isOtherSecret({ ...head, keys: own.keys }, true)
    const restoration =
      found?.restoration ?? (await this.#transaction(sql => store.beginProjectRestore(sql, head.manifest.id, own)))
    try {
      let sum: BackupCounts = NOTHING
      for await (const { project } of this.#lines.all('traces')) {
        if (project === chosen.project.id) sum = await this.#restoreProject(project, head, restoration)
        else await this.#pass(project)
      }
      const parts = { manifest: head.manifest, projects: [own.project], users: [], members: [], keys: own.keys }
      await this.#end({ ...parts, accounts: [] }, restoration)
      return {
        counts: { ...sum, projects: 1, keys: own.keys.length },
        resumed: found !== undefined,
        otherSecret,
        project: chosen.slug,
        keptKeys: own.keptKeys
      }
    } catch (error) {
      if (!(error instanceof AdminError)) throw error
      const removal = `spoor project delete ${chosen.pendingSlug} --apply`
      throw new AdminError(`${error.message}. To remove what has been restored so far: \`${removal}\``)
    }
  }

  /** Reads past a project that is not restored. Its lines still count towards the checksum of the backup. */
  async #pass(project: number): Promise<void> {
    for (
      let line = await this.#lines.peek();
      line !== undefined && isPassed(line.name);
      line = await this.#lines.peek()
    ) {
      await this.#lines.take(line.name)
    }
    if ((await this.#lines.take('sum')) === undefined) throw new AdminError(`project ${project} has no checksum`)
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
      `the backup is from spoor ${spoor} with schema ${schema}, but this version supports up to ${latest}: update spoor`
    )
  }

  async #requireRoom(head: Head): Promise<void> {
    const occupation = await this.#target.pool.run(sql => progress.readOccupation(sql, head))
    const { accounts, projects, users, slugs, keys } = occupation
    if (!this.#options.into && accounts + projects + users > 0) {
      throw new AdminError(
        `the database is not empty (projects: ${projects}): restore into a new database, or add --into to keep them`
      )
    }
    if (slugs.length > 0) {
      throw new AdminError(`the slug ${slugs.join(', ')} is already used by another project here${ONE_BACK}`)
    }
    if (keys.length > 0) {
      throw new AdminError(`the key ${keys[0]} already exists: the backup is from this database${ONE_BACK}`)
    }
  }

  /**
   * Whether the configured secret differs from the secret of the backup's keys or, with `into`, from the secret of the
   * existing keys. Throws an AdminError if keys made with both secrets would exist side by side.
   */
  async #isOtherSecret({ manifest, keys }: Pick<Head, 'manifest' | 'keys'>, into: boolean): Promise<boolean> {
    const { revokeKeys } = this.#options
    const isOther = await this.#differs(manifest, into)
    if (into && isOther && keys.length > 0 && !revokeKeys) throw otherSecretBeside()
    return isOther && !revokeKeys
  }

  async #differs({ secret }: Manifest, into: boolean): Promise<boolean> {
    const { digestSecret, previousSecret, pool } = this.#target
    if (secret === null) return false
    if (digestSecret === undefined) return true
    const fingerprint = { salt: Buffer.from(secret.salt, 'hex'), fingerprint: Buffer.from(secret.fingerprint, 'hex') }
    if (!(await matches(fingerprint, digestSecret, previousSecret))) return true
    return into && (await pool.run(sql => isOtherSecret(sql, digestSecret, previousSecret)))
  }

  /** Restores a project's traces, messages and authors, and verifies them. Returns their counts. */
  async #restoreProject(project: number, head: Head, restoration: progress.Restoration): Promise<BackupCounts> {
    const { pool } = this.#target
    const own = restoration.projects.get(project)
    if (own === undefined)
      throw new AdminError(`the backup has traces of project ${project}, but not the project itself`)
    const counts = { ...NOTHING }
    const verify = await this.#restoreTraces(project, own, head)
    for await (const messages of this.#lines.batches('messages')) {
      await pool.run(sql => addMessages(sql, own, messages))
      counts.messages += messages.length
    }
    for await (const authors of this.#lines.batches('author')) {
      const known = authors.filter(({ userId }) => restoration.users.has(userId))
      await pool.run(sql => setAuthors(sql, own, known, restoration.users))
      counts.authors += known.length
    }
    const sum = await this.#lines.take('sum')
    if (sum === undefined) return counts
    await verify(sum)
    return { ...counts, traces: sum.traces, spans: sum.spans, scores: sum.scores }
  }

  /** Restores a project's traces. Returns a function that compares them, as they were read back, with their sum. */
  async #restoreTraces(project: number, projectId: number, head: Head): Promise<(sum: ProjectSum) => Promise<void>> {
    const { pool } = this.#target
    if (head.manifest.format > 1) return this.#restorePages(project, projectId, head)
    const readBack = new ReadBack(pool, projectId, this.#options.stretch)
    try {
      const onStored = (id: string | undefined) => readBack.stored(id)
      await this.#importTraces(projectId, head, Number.POSITIVE_INFINITY, () => {}, onStored)
    } finally {
      await readBack.pause()
    }
    return sum => this.#verify(readBack, sum)
  }

  async #restorePages(project: number, projectId: number, head: Head): Promise<(sum: ProjectSum) => Promise<void>> {
    const { pool, path } = this.#target
    const onStored = (traces: number) => {
      this.#traces += traces
      this.#show(head)
    }
    const pages = new PageRestore({ pool, path, projectId, onStored })
    try {
      for (let line = await this.#lines.peek(); line?.name === 'rows' || line?.name === 'trace'; ) {
        if (this.#options.signal?.aborted) throw interrupted(this.#traces)
        if (line.name === 'rows') {
          await this.#lines.take('rows')
          if (line.value !== null) await pages.take(line.value)
        } else await this.#restoreLines(projectId, head, pages)
        line = await this.#lines.peek()
      }
      await pages.finish()
    } catch (error) {
      throw error instanceof DifferentTraces ? differs(project, READ_BACK_DIFFERENT) : error
    } finally {
      await pages.settle()
    }
    return async sum => requireCounts(sum, await pool.run(sql => countProject(sql, projectId)))
  }

  /** Imports some consecutive traces that have lines of their own, and reads them back. */
  async #restoreLines(projectId: number, head: Head, pages: PageRestore): Promise<void> {
    const ids: string[] = []
    const hash = createHash('sha256')
    await this.#importTraces(projectId, head, LINES_TOGETHER, ({ bytes }, id) => {
      if (id !== undefined) ids.push(id)
      hash.update(bytes).update('\n')
    })
    await pages.compareLines(ids, hash.digest())
  }

  #show({ manifest }: Head): void {
    const { onProgress, project } = this.#options
    onProgress?.(this.#traces, project === undefined ? manifest.counts.traces : undefined)
  }

  /** Imports at most `most` consecutive traces that have lines of their own. `onRead` is called before each is sent. */
  async #importTraces(
    projectId: number,
    head: Head,
    most: number,
    onRead: (line: SplitValue, id: string | undefined) => void,
    onStored?: (id: string | undefined) => void
  ): Promise<void> {
    const { signal } = this.#options
    const before = this.#traces
    let problem: string | undefined
    const lines = this.#lines
    /** Ids of the traces that are read but not stored yet, in the order of the backup. */
    const underWay: (string | undefined)[] = []
    async function* values(): AsyncGenerator<SplitValue> {
      for (let count = 0; count < most && problem === undefined; count++) {
        const value = await lines.take('trace')
        if (value === undefined) return
        const id = idOf(value)
        underWay.push(id)
        onRead(value, id)
        yield value
      }
    }
    await importValues(this.#target.path, projectId, values(), {
      onProblem: (place, reason) => {
        problem ??= `${place} of the backup cannot be restored: ${reason}`
      },
      onProgress: ({ traces }) => {
        this.#traces = before + traces
        onStored?.(underWay.shift())
        this.#show(head)
      },
      ...(signal && { signal })
    })
    if (problem !== undefined) throw new AdminError(problem)
  }

  /** Compares the project, as it was read back, with the counts and the hash in `sum`. */
  async #verify(readBack: ReadBack, sum: ProjectSum): Promise<void> {
    const found = await readBack.finish()
    requireCounts(sum, found)
    if (found.sha256 !== sum.sha256) throw differs(sum.project, READ_BACK_DIFFERENT)
  }

  /** Stores the audit entries and enables sign-ins and keys. Commits only if the backup turns out to be complete. */
  async #end(
    { manifest, projects, users, members, keys }: Head,
    restoration: progress.Restoration
  ): Promise<BackupCounts> {
    const { revokeKeys } = this.#options
    const known = restoration.into && (await this.#target.pool.run(sql => progress.hasFingerprint(sql)))
    const secret = known ? undefined : (manifest.secret ?? undefined)
    return this.#transaction(async sql => {
      for await (const entries of this.#lines.batches('act')) {
        // The audit log of this instance keeps its entries when a project is deleted.
        if (restoration.project === undefined) await insertAudit(sql, entries, restoration)
      }
      const prices = manifest.prices ?? []
      const admissions = { prices, projects, users, members, keys, secret, revokeKeys }
      if (!(await store.endRestore(sql, restoration, admissions))) {
        throw new AdminError(`another project has just taken the slug ${restoration.project?.slug}`)
      }
      const end = await this.#lines.take('end')
      // Reading past the end detects trailing bytes.
      if (end === undefined || (await this.#lines.peek()) !== undefined)
        throw new AdminError('the backup is incomplete')
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

/** Maximum number of traces with lines of their own that are imported before they are read back. */
const LINES_TOGETHER = 100

/** Returns the id at the beginning of a trace's line. Every export writes it there. */
const idOf = ({ bytes }: SplitValue): string | undefined =>
  LINE_START.exec(Buffer.from(bytes.subarray(0, 64)).toString('latin1'))?.[1]
const LINE_START = /^\{"trace":\{"id":"([0-9a-f]{32})"/

/** Advice for a backup of this instance, or of one that shares names with it. */
const ONE_BACK = ': to restore a single project, add `--project SLUG`, and `--as OTHER` to change its slug'

const differs = (project: number, reason: string) =>
  new AdminError(`project ${project} of the backup was not restored exactly: ${reason}`)

const READ_BACK_DIFFERENT = 'its traces differed when read back'

function requireCounts(sum: ProjectSum, found: ProjectCounts): void {
  for (const name of SUMMED) {
    if (found[name] !== sum[name]) throw differs(sum.project, `it has ${found[name]} ${name} instead of ${sum[name]}`)
  }
}

const interrupted = (traces: number) =>
  new AdminError(`interrupted: ${traces} traces restored so far; run the command again to continue`)

const otherSecretBeside = () =>
  new AdminError(
    'the keys in the backup were created with a different KEY_DIGEST_SECRET, and cannot work alongside the keys in ' +
      'this database: use --revoke-keys to restore them as revoked'
  )
