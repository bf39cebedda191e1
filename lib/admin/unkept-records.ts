/** Describes the log records and metrics that a project received but did not keep. */
import type { Sql } from 'postgres'
import { readUnkept, type UnkeptRow } from '../store/projects/unkept-records.ts'
import type { DescribedProject } from './projects.ts'

/** `firstAt` and `lastAt` are ISO timestamps. */
export interface ShownUnkept extends Omit<UnkeptRow, 'projectId' | 'firstAt' | 'lastAt'> {
  readonly firstAt: string
  readonly lastAt: string
}
export type DescribedUnkept = ShownUnkept & { readonly project: string }

export function describeUnkept({ signal, name, count, firstAt, lastAt }: UnkeptRow): ShownUnkept {
  const isoOf = (time: number) => new Date(time).toISOString()
  return { signal, name, count, firstAt: isoOf(firstAt), lastAt: isoOf(lastAt) }
}

/** Returns the given projects' counts, with each project's slug. */
export async function listUnkept(sql: Sql, projects: readonly DescribedProject[]): Promise<readonly DescribedUnkept[]> {
  const slugs = new Map(projects.map(({ id, slug }) => [Number(id), slug]))
  return (await readUnkept(sql)).flatMap(row => {
    const project = slugs.get(row.projectId)
    return project === undefined ? [] : { project, ...describeUnkept(row) }
  })
}
