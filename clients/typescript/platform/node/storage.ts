/** The spool and the end of the process in Node, Bun and Deno. */
import { existsSync } from 'node:fs'
import { onEnding } from '../../send/exit.ts'
import type { Outbox } from '../../send/outbox.ts'
import { Owner } from '../../send/owner.ts'
import { Spool } from '../../send/spool.ts'
import type { SpoolLook } from '../../send/spool-adoption.ts'
import type { Transport } from '../../send/transport.ts'

interface SpoolSettings {
  readonly url: string
  readonly key: string
  readonly spool: string | undefined
  readonly spoolBytes: number
  readonly obstacle: string | undefined
}

export default {
  onEnding,

  open({ url, key, spool, spoolBytes, obstacle }: SpoolSettings): Spool | undefined {
    const owner = new Owner({ url, key })
    if (obstacle === undefined) owner.register(spool)
    return spool === undefined ? undefined : new Spool(spool, spoolBytes, owner)
  },

  /** Takes a batch of the entries that other processes left. Returns the number taken and whether to retry soon. */
  async look(spool: Spool, outbox: Outbox, connect: () => Promise<Transport>, look: SpoolLook) {
    spool.touch()
    const isUnknown = spool.owner.destination === undefined && outbox.state().sent > 0
    if (!isUnknown && !existsSync(spool.folder)) return { taken: 0, isAgain: false }
    const { adopt } = await import('../../send/spool-adoption.ts')
    return adopt(spool, outbox, connect, look)
  }
}
