/**
 * The keys of all advisory locks. They never change, because processes of two versions run beside each other. A key
 * that is taken together with the number of a project cannot collide with one that is taken alone.
 */
export const ADVISORY_LOCK = {
  /** One process migrates at a time. */
  migration: 5_700_100,
  /** Each user of an embedded cluster shares it; who has it alone may stop the cluster. */
  embeddedUsers: 5_700_101,
  /** Changes of memberships, links and passwords go one after the other. */
  people: 5_700_102,
  /** One process indexes for search at a time. */
  searchIndex: 5_700_103,
  /** One restore at a time. */
  restore: 0x726573,
  /** With a project: one process changes its rollups at a time. */
  rollups: 0x666f6c64,
  /** With a project: one process repairs its totals at a time. */
  totals: 0x726563
} as const
