/**
 * Decodes the pages of a backup for a restore. Decoding needs no database, so a restore leaves it to another thread
 * (lib/moving/backup/reading-thread.ts).
 */
import { AdminError } from '../../admin-error.ts'
import { PageFault } from '../../store/instance/row-cursor.ts'
import { type CopiedTrace, type StoredPage, tracesInPage } from '../../store/instance/stored-page.ts'
import { decodePage } from './format.ts'
import type { BackupLine } from './read-backup.ts'

/** A page, and its traces with the rows to store. */
export interface DecodedPage {
  readonly page: StoredPage
  readonly traces: readonly CopiedTrace[]
}

type PageLine = Extract<BackupLine, { readonly name: 'rows' }>
/** A line of a backup. The page of a project that is not restored is null. */
export type DecodedLine = Exclude<BackupLine, PageLine> | { readonly name: 'rows'; readonly value: DecodedPage | null }

/** Decodes the pages of all projects, or only those of the project with this slug. */
export async function* decodeLines(
  lines: AsyncIterable<BackupLine>,
  slug?: string
): AsyncGenerator<DecodedLine, void, undefined> {
  let chosen: number | undefined
  let current: number | undefined
  for await (const line of lines) {
    if (line.name === 'project' && line.value.slug === slug) chosen = line.value.id
    else if (line.name === 'traces') current = line.value.project
    if (line.name !== 'rows') yield line
    else yield { name: 'rows', value: slug === undefined || current === chosen ? decode(line) : null }
  }
}

function decode({ value: { bytes, place } }: PageLine): DecodedPage {
  const page = decodePage(bytes)
  if (page === undefined) throw new AdminError(`the backup is damaged: ${place} is not a page of traces`)
  try {
    return { page, traces: [...tracesInPage(page)] }
  } catch (error) {
    throw error instanceof PageFault ? new AdminError(`the backup is damaged: a page ${error.message}`) : error
  }
}
