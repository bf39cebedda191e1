/** Columns of the trace list. Columns of scores and of metadata are named `score:NAME` and `metadata:NAME`. */

export interface ListColumn {
  readonly name: string
  readonly title: string
  /** Set if the column contains numbers, which are aligned at the end of the cell. */
  readonly number?: true
}

export const COLUMNS: readonly ListColumn[] = [
  { name: 'name', title: 'Name' },
  { name: 'status', title: 'Status' },
  { name: 'started', title: 'Started' },
  { name: 'ended', title: 'Ended' },
  { name: 'latency', title: 'Duration', number: true },
  { name: 'model', title: 'Model' },
  { name: 'provider', title: 'Provider' },
  { name: 'input', title: 'Tokens in', number: true },
  { name: 'output', title: 'Tokens out', number: true },
  { name: 'tokens', title: 'Tokens', number: true },
  { name: 'cost', title: 'Cost', number: true },
  { name: 'spans', title: 'Spans', number: true },
  { name: 'errors', title: 'Errors', number: true },
  { name: 'session', title: 'Session' },
  { name: 'user', title: 'User' },
  { name: 'tags', title: 'Tags' },
  { name: 'environment', title: 'Environment' },
  { name: 'size', title: 'Size', number: true },
  { name: 'ingested', title: 'Ingested' },
  { name: 'id', title: 'Id' },
  { name: 'scores', title: 'Scores' }
]

/** Name of the pseudo-column that hides the first words and errors of rows. Rows show these by default. */
export const COMPACT = 'compact'

export const DEFAULT_COLUMNS = ['name', 'status', 'started', 'latency', 'model', 'tokens', 'cost', 'spans', 'scores']
const SCORE = 'score:'
const METADATA = 'metadata:'
/** Maximum number of columns of metadata, which the server limits. */
export const MOST_METADATA = 8

export function scoreColumn(score: string): string {
  return `${SCORE}${score}`
}

export function scoreOfColumn(name: string): string | undefined {
  return name.startsWith(SCORE) ? name.slice(SCORE.length) : undefined
}

/** Returns the name of a column of metadata. The name has no comma, because addresses separate columns by commas. */
export const metadataColumn = (name: string): string => `${METADATA}${encodeURIComponent(name)}`

/** Returns the name of the metadata that a column shows; undefined for other columns. */
export function metadataOfColumn(column: string): string | undefined {
  if (!column.startsWith(METADATA)) return undefined
  try {
    return decodeURIComponent(column.slice(METADATA.length)) || undefined
  } catch {
    return undefined
  }
}

/** Returns the name column and the columns with the given names, ignoring unknown and repeated names. */
export function chooseColumns(names: readonly string[]): ListColumn[] {
  const chosen = new Map<string, ListColumn>()
  for (const name of names) {
    const column = columnOf(name)
    if (column !== undefined) chosen.set(name, column)
  }
  return chosen.has('name') ? [...chosen.values()] : [COLUMNS[0]!, ...chosen.values()]
}

function columnOf(name: string): ListColumn | undefined {
  const [score, metadata] = [scoreOfColumn(name), metadataOfColumn(name)]
  if (metadata !== undefined) return metadata.length <= 200 ? { name, title: metadata } : undefined
  if (score !== undefined) return /^[\w-]{1,64}$/.test(score) ? { name, title: score } : undefined
  return COLUMNS.find(each => each.name === name)
}

/** Returns the names with one name moved by one position. */
export function moveColumn(names: readonly string[], name: string, by: 1 | -1): string[] {
  const at = names.indexOf(name)
  const to = at + by
  if (at === -1 || to < 0 || to >= names.length) return [...names]
  const moved = [...names]
  ;[moved[at], moved[to]] = [moved[to]!, moved[at]!]
  return moved
}
