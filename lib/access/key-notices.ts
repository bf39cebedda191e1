/** Listens for the notices that processes send when keys change (lib/store/projects/keys.ts). */
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import type { Database } from '../database/database.ts'
import { openOnce } from '../database/pooled/single-connection.ts'
import { SECRET_REPLACED } from '../store/projects/digest-secret.ts'
import { listenToKeys } from '../store/projects/keys.ts'

/** Pause before reconnecting after a connection ended or could not be opened. */
const RETRY_MS = 500

/**
 * Calls `onChange` for every notice. Also calls `onChange` after every reconnect, because notices sent during the
 * interruption are lost. Calls `onOtherSecret` if KEY_DIGEST_SECRET was replaced. Keeps trying to connect forever, even
 * if the first attempt failed.
 */
export function listenForKeyChanges({ connect, limit }: Database, onChange: () => void, onOtherSecret: () => void) {
  let isClosed = false
  let listening: Sql | undefined
  const onNotice = (_channel: string, notice: string) => {
    onChange()
    if (notice === SECRET_REPLACED) onOtherSecret()
  }
  const listen = async () => {
    let onClose = () => {}
    const closed = new Promise<void>(resolve => {
      onClose = resolve
    })
    const options = { applicationName: 'key notices', onNotice, onClose }
    const sql = await limit.openForGood(() => openOnce(connect, options))
    listening = sql
    try {
      if (isClosed) return
      await listenToKeys(sql)
      onChange()
      await closed
    } finally {
      sql.end({ timeout: 0 }).catch(() => {})
      limit.leaveForGood()
    }
  }
  const goOn = async () => {
    while (!isClosed) {
      await listen().catch(() => {})
      await delay(RETRY_MS, undefined, { ref: false })
    }
  }
  void goOn()
  return {
    async close() {
      isClosed = true
      await listening?.end({ timeout: 1 })
    }
  }
}
