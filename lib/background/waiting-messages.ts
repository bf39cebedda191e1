/** Drops messages that arrived as log records if their span does not arrive in time (lib/store/trace/messages.ts). */
import type { SqlAccess } from '../database/sql-access.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { isUnfinished, sweepMessages } from '../store/trace/messages.ts'
import { Rounds, type RoundsOptions } from './rounds.ts'
import type { UnkeptRecords } from './unkept-records.ts'

/** How long a message waits for its span. */
const WAIT_MS = 600_000
const ROUNDS = 10

export interface WaitingMessagesOptions {
  readonly sql: SqlAccess
  readonly log: Logger
  readonly health?: RoundsOptions['health']
  readonly metrics: Pick<Metrics, 'countLogRecords'>
  readonly unkept: Pick<UnkeptRecords, 'add'>
  /** How long a message waits, in ms; defaults to WAIT_MS. */
  readonly waitMs?: number | undefined
}

export class WaitingMessages {
  readonly #rounds: Rounds

  constructor({ sql, log, health, metrics, unkept, waitMs = WAIT_MS }: WaitingMessagesOptions) {
    const options = { what: 'dropping messages without a span', pauseMs: waitMs / ROUNDS, log, health }
    this.#rounds = new Rounds(options, async () => {
      for (let goesOn = true; goesOn && !this.#rounds.isClosed; ) {
        const swept = await sql.write(sql => sweepMessages(sql, waitMs))
        for (const { projectId, counts } of swept.leftOut) {
          const count = [...counts.values()].reduce((sum, each) => sum + each, 0)
          unkept.add(projectId, 'logs', counts)
          metrics.countLogRecords({ left_out: count })
          log.warn(
            { project: projectId },
            `dropped ${count} messages from log records: the spans they refer to never arrived`
          )
        }
        this.#rounds.advance()
        goesOn = isUnfinished(swept)
      }
    })
  }

  close(): void {
    this.#rounds.close()
  }
}
