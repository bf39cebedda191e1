/** Finds and reads the traces of an export through requests, either to a server or to the routes of this process. */
import { type Asker, requestPath } from '../../asking/asker.ts'
import { NotFound } from '../../asking/failure.ts'
import type { ShownSummary } from '../../terminal/columns.ts'
import { type ChosenTraces, foundPages, selected, TRACES } from '../traces/selection.ts'

const CHANGES = '/api/v1/changes'
const CHANGES_PAGE = 200
/** Number of traces that are requested at a time. */
const AT_ONCE = 4

export interface AskedPage {
  readonly ids: readonly string[]
  /** The cursor after these traces, if a cursor selected them. */
  readonly next?: string
}

const idsOf = (traces: readonly ShownSummary[]): string[] => traces.map(({ id }) => id)

/** Yields the traces that meet the conditions. */
export async function* askedTraces(asker: Asker, selection: ChosenTraces): AsyncGenerator<AskedPage, void> {
  for await (const page of foundPages(asker, selection.query)) yield { ids: idsOf(page) }
}

/**
 * Yields the traces that were written since a cursor and meet the conditions, until there are no later writes. A trace
 * that changes meanwhile is yielded again.
 */
export async function* askedChanges(
  asker: Asker,
  selection: ChosenTraces,
  start: string | undefined
): AsyncGenerator<AskedPage, void> {
  for (let after = start, isOver = false; !isOver; ) {
    const answer = JSON.parse(await asker.ask('GET', requestPath(CHANGES, { after, limit: CHANGES_PAGE })))
    yield { ids: idsOf(await selected(asker, answer.traces, selection)), next: answer.nextCursor }
    isOver = answer.caughtUp || answer.nextCursor === after
    after = answer.nextCursor
  }
}

/** Yields the response for each trace, in order. Skips traces that were deleted meanwhile. */
export async function* readAsked(asker: Asker, ids: readonly string[]): AsyncGenerator<string, void> {
  for (let i = 0; i < ids.length; i += AT_ONCE) {
    const answers = await Promise.all(ids.slice(i, i + AT_ONCE).map(id => readOne(asker, id)))
    for (const answer of answers) if (answer !== undefined) yield answer
  }
}

async function readOne(asker: Asker, id: string): Promise<string | undefined> {
  try {
    return await asker.ask('GET', `${TRACES}/${id}`)
  } catch (error) {
    if (error instanceof NotFound) return undefined
    throw error
  }
}
