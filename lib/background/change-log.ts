/**
 * Gives written traces their places in the order of changes (lib/store/changes/fold.ts), and drops old places. A reader
 * of changes folds its own project's writes first, so nobody waits for these rounds. Every process runs this loop.
 */
import type { SqlAccess } from '../database/sql-access.ts'
import type { Logger } from '../log.ts'
import { dropOldChanges, foldChanges, readLogged, readUnfolded } from '../store/changes/fold.ts'
import { Rounds, type RoundsOptions } from './rounds.ts'

const PAUSE_MS = 5000
/**
 * Projects with fewer notes than this are folded only in every WHOLE_ROUNDS-th round, because a fold costs about the
 * same for one note as for a hundred.
 */
const FEW_NEWS = 100
const WHOLE_ROUNDS = 12
/** One round in this many drops old places, which is about once an hour. */
const DROPPING_ROUNDS = 720

export interface ChangeLogOptions {
  readonly sql: SqlAccess
  readonly log: Logger
  readonly health?: RoundsOptions['health']
  readonly pauseMs?: number | undefined
}

export class ChangeLog {
  readonly #options: ChangeLogOptions
  readonly #rounds: Rounds
  #round = 0

  constructor(options: ChangeLogOptions) {
    const { log, health, pauseMs = PAUSE_MS } = options
    this.#options = options
    this.#rounds = new Rounds({ what: 'ordering changes', pauseMs, log, health }, async () => {
      await this.#fold()
      if (this.#round % DROPPING_ROUNDS === 0) await this.#drop()
      this.#round++
    })
  }

  close(): void {
    this.#rounds.close()
  }

  async #fold(): Promise<void> {
    const { sql } = this.#options
    const least = this.#round % WHOLE_ROUNDS === 0 ? 1 : FEW_NEWS
    for (const { projectId, rows } of await sql.read(readUnfolded)) {
      if (rows < least) continue
      for (let left = rows; left > 0 && !this.#rounds.isClosed; ) {
        const folded = await sql.write(sql => foldChanges(sql, projectId))
        this.#rounds.advance()
        // Another process or a reader has folded the rest.
        left = folded === 0 ? 0 : left - folded
      }
    }
  }

  async #drop(): Promise<void> {
    const { sql } = this.#options
    for (const projectId of await sql.read(readLogged)) {
      for (let dropped = 1; dropped > 0 && !this.#rounds.isClosed; ) {
        dropped = await sql.write(sql => dropOldChanges(sql, projectId))
        this.#rounds.advance()
      }
    }
  }
}
