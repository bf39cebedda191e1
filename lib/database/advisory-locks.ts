/**
 * Keys of all advisory locks. They must never change, because processes of different versions may run side by side. A
 * two-part key that includes a project id cannot collide with a single key.
 */
export const ADVISORY_LOCK = {
  /** Limits migration to one process at a time. */
  migration: 5_700_100,
  /**
   * Held in shared mode by every process that uses an embedded cluster. A process that holds the lock exclusively may
   * stop the cluster.
   */
  embeddedUsers: 5_700_101,
  /** Serializes changes to memberships, links and passwords. */
  people: 5_700_102,
  /** Limits search indexing to one process at a time. */
  searchIndex: 5_700_103,
  /** Limits repacking to one process at a time. */
  repacking: 5_700_104,
  /** Limits compaction to one process at a time. */
  compaction: 5_700_105,
  /** Limits the number of concurrent restores to one. */
  restore: 0x726573,
  /** With a project id, limits changes to the project's rollups to one process at a time. */
  rollups: 0x666f6c64,
  /** With a project id, limits repairs of the project's totals to one process at a time. */
  totals: 0x726563
} as const
