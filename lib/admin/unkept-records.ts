/** Describes the log records and metrics that a project received but did not keep. */
import type { Sql } from 'postgres'
import { readUnkept, type UnkeptRow } from '../store/projects/unkept-records.ts'
import type { DescribedProject } from './projects.ts'

export type DescribedUnkept = Omit<UnkeptRow, 'projectId'> & { readonly project: string }

/** Returns the given projects' counts, with each project's slug. */
export async function listUnkept(sql: Sql, projects: readonly DescribedProject[]): Promise<readonly DescribedUnkept[]> {
  const slugs = new Map(projects.map(({ id, slug }) => [Number(id), slug]))
  return (await readUnkept(sql)).flatMap(({ projectId, ...row }) => {
    const project = slugs.get(projectId)
    return project === undefined ? [] : { project, ...row }
  })
}
