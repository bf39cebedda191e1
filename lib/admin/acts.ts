/** The work of `spoor audit`. */
import type { Sql } from 'postgres'
import { readActs } from '../store/people/audit.ts'
import { requireProject } from './projects.ts'

export interface ActListing {
  readonly at: string
  /** A user's address, `command (USER OF THE SYSTEM)`, `key ID`, or `server`. */
  readonly by: string
  readonly action: string
  readonly project: string | null
  readonly account: string | null
  readonly detail: Readonly<Record<string, unknown>>
}

/** No more are listed, the newest. */
export const MOST_ACTS = 10_000

/** The acts of all projects, or of one, since a time; the oldest first. */
export async function listActs(sql: Sql, project?: string, since?: string): Promise<ActListing[]> {
  const projectId = project === undefined ? undefined : await requireProject(sql, project)
  const rows = await readActs(sql, { projectId, since }, MOST_ACTS)
  return rows.map(({ at, action, email, project, account, detail: text }) => {
    const { systemUser, ...detail } = JSON.parse(text ?? '{}')
    return { at, by: email ?? actorOf(systemUser, action, detail.keyId), action, project, account, detail }
  })
}

function actorOf(systemUser: string | undefined, action: string, keyId: string | undefined): string {
  if (systemUser !== undefined) return `command (${systemUser})`
  return keyId !== undefined && action.endsWith('.delete') ? `key ${keyId}` : 'server'
}
