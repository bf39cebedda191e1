/**
 * Decides which traces from before migration 17 are runs (lib/store/trace/runs.ts), newest first. Several processes may
 * do so at the same time, because they come to the same decisions.
 */
import type { SqlAccess } from '../database/sql-access.ts'
import type { Logger } from '../log.ts'
import { decideRuns, findUndecidedRuns } from '../store/trace/runs.ts'
import { Rounds, type RoundsOptions } from './rounds.ts'

const PAUSE_MS = 5000
/** Time limit for each round: a fifth of the pause between rounds. */
const ROUND_MS = 1000

export interface OldRunsOptions {
  readonly sql: SqlAccess
  readonly log: Logger
  readonly health?: RoundsOptions['health']
  readonly pauseMs?: number | undefined
}

export class OldRuns {
  readonly #rounds: Rounds

  constructor({ sql, log, health, pauseMs = PAUSE_MS }: OldRunsOptions) {
    this.#rounds = new Rounds({ what: 'classifying older traces', pauseMs, log, health }, async () => {
      const end = performance.now() + ROUND_MS
      for (let goesOn = true; goesOn; ) {
        const project = await sql.read(findUndecidedRuns)
        // The rounds stop permanently, because only traces from before the migration can be undecided.
        if (project === undefined) return this.#rounds.close()
        const { projectId } = project
        let below: number | undefined = project.below
        do {
          const from: number = below
          below = await sql.write(sql => decideRuns(sql, { projectId, below: from }))
          this.#rounds.advance()
          goesOn = !this.#rounds.isClosed && performance.now() < end
        } while (below !== undefined && goesOn)
        if (below === undefined)
          log.info({ project: projectId }, 'all traces in this project are now classified; runsOnly is exact')
      }
    })
  }

  close(): void {
    this.#rounds.close()
  }
}
