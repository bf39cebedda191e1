/**
 * Limits how many names an hour and a day count by themselves. Otherwise clients that make up a name for every trace
 * would make a row for every trace. A name beyond the limit is counted under its environment or its family, in the row
 * of all other names there.
 */
import { LEVELS } from './levels.ts'

/** The rows of each level by name in an hour, and in a day. */
const { hour, day } = LEVELS
export const ROOM = {
  [hour.nameInEnvironment]: 500,
  [hour.nameInFamily]: 500,
  [day.nameInEnvironment]: 2000,
  [day.nameInFamily]: 2000
} as const
type NameLevel = keyof typeof ROOM
export const NAME_LEVELS = Object.keys(ROOM) as readonly NameLevel[]

/** A row of rollups that is to be added up. Numbers of lists are texts, since they are exact to 64 bits. */
export interface RollupPart {
  readonly level: string
  readonly start: string
  readonly list: string
  readonly within: string
  readonly name: string | null
}

const isNameLevel = (level: string): level is NameLevel => level in ROOM
const keyOf = ({ level, start }: Pick<RollupPart, 'level' | 'start'>) => `${level}/${start}`

/** The hours and days that may lack room for what is new. `rows` says how many rows each has. */
export function findFull<T extends RollupPart>(
  parts: readonly T[],
  rows: readonly { readonly level: string; readonly start: string; readonly rows: number }[]
): { readonly level: string; readonly start: string }[] {
  const counts = new Map(rows.map(each => [keyOf(each), each.rows]))
  const byTime = new Map<string, T>()
  for (const part of parts) {
    if (!isNameLevel(part.level)) continue
    const key = keyOf(part)
    byTime.set(key, part)
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return [...byTime]
    .filter(([key, { level }]) => (counts.get(key) as number) > ROOM[level as NameLevel])
    .map(([, { level, start }]) => ({ level, start }))
}

/**
 * Puts each part into the row that counts it: its own row, if that exists or has room, or else the row of its
 * environment or family. So what is taken away later is taken from where it was added, as long as rows stay. `full` are
 * the rows of the hours and days that may lack room.
 */
export function findRoom<T extends RollupPart>(
  parts: readonly T[],
  full: readonly { readonly level: string; readonly start: string; readonly lists: readonly string[] }[]
): T[] {
  const known = new Map(full.map(each => [keyOf(each), new Set(each.lists)]))
  return parts.map(part => {
    const lists = known.get(keyOf(part))
    if (lists === undefined || lists.has(part.list)) return part
    if (lists.size >= ROOM[part.level as NameLevel]) return { ...part, list: part.within, name: null }
    lists.add(part.list)
    return part
  })
}
