/** Sentences for lists of steps that are empty: which filter names nothing that exists, and what is near. */
import type { Sql } from 'postgres'
import type { TableNames } from '../lib/database/tables.ts'
import { nearestNames } from '../lib/search/nearest.ts'
import { type KnownSteps, readKnownSteps } from '../lib/store/spans/known-steps.ts'

export interface StepFilters {
  readonly name?: string | undefined
  readonly model?: string | undefined
  readonly environment?: string | undefined
  readonly traceId?: string | undefined
}

interface Empty {
  /** A word for the items of the list: `span` or `failure`. */
  readonly sought: string
  /** Start of the last examined trace, if the walk was stopped. */
  readonly reached: string | undefined
}

/** Returns what an agent needs to know about an empty list. */
export async function hintOnSteps(
  sql: Sql,
  projectId: number,
  filters: StepFilters,
  empty: Empty,
  names: TableNames
): Promise<string> {
  return hintOf(filters, empty, await readKnownSteps(sql, projectId, filters.traceId, names))
}

/** Returns the sentences, given what is known. */
export function hintOf(filters: StepFilters, { sought, reached }: Empty, known: KnownSteps): string {
  const { name, model, environment, traceId } = filters
  if (known.newest === null) return 'The project has no traces.'
  const sentences = [
    ...(known.hasTrace === false ? [`The project has no trace ${traceId}.`] : []),
    ...missing(name, known.names, 'Among the newest traces, no step is named', 'Names of steps'),
    ...missing(model, known.models, 'Among the newest traces, no step has the model', 'Models'),
    ...missing(environment, known.environments, 'No trace has the environment', 'Environments')
  ]
  if (reached !== undefined) {
    sentences.push(`The traces back to ${reached} have no such ${sought}; go on with nextCursor, or narrow the times.`)
  } else if (sentences.length === 0) {
    sentences.push(`No ${sought} meets all filters and times. The newest trace started at ${known.newest}.`)
  }
  return sentences.join(' ')
}

function missing(wanted: string | undefined, known: readonly string[], sentence: string, title: string): string[] {
  if (wanted === undefined || known.includes(wanted)) return []
  const near = nearestNames(wanted, known).map(each => JSON.stringify(each))
  return [`${sentence} ${JSON.stringify(wanted)}. ${title}: ${near.length === 0 ? 'none' : near.join(', ')}.`]
}
