/** Hears of changed keys from whatever process changed them (lib/store/keys.ts says so to every listener). */
import type { Database } from '../database/database.ts'
import { SECRET_REPLACED } from '../store/digest-secret.ts'
import { KEYS_CHANNEL } from '../store/keys.ts'

/**
 * Calls `onChange` for every notice, and each time that the connection stands anew, because what was said in between is
 * lost; and `onOtherSecret` where KEY_DIGEST_SECRET was replaced. The driver connects again by itself, also where the
 * database was away at first.
 */
export function listenForKeyChanges(
  database: Database,
  onChange: () => void,
  onOtherSecret: () => void
): { close(): Promise<void> } {
  const sql = database.connect({ applicationName: 'key notices' })
  const hear = (notice: string) => {
    onChange()
    if (notice === SECRET_REPLACED) onOtherSecret()
  }
  sql.listen(KEYS_CHANNEL, hear, onChange).catch(() => {})
  return {
    close: () => sql.end({ timeout: 1 })
  }
}
