/**
 * Limits the number of names counted separately per hour and per day. Without a limit, clients that send a new name
 * with every trace would create a row for every trace. Names beyond the limit are counted together in one row per
 * environment or family.
 */
import { LEVELS } from './levels.ts'

/** Maximum number of rows for names per hour and per day, by level. */
const { hour, day } = LEVELS
export const ROOM = {
  [hour.nameInEnvironment]: 500,
  [hour.nameInFamily]: 500,
  [day.nameInEnvironment]: 2000,
  [day.nameInFamily]: 2000
} as const
type NameLevel = keyof typeof ROOM
export const NAME_LEVELS = Object.keys(ROOM) as readonly NameLevel[]

/** Amounts to add to a row of rollups. List numbers are strings because they are 64-bit integers. */
export interface RollupPart {
  readonly level: string
  readonly start: string
  readonly list: string
  readonly within: string
  readonly name: string | null
}

const isNameLevel = (level: string): level is NameLevel => level in ROOM
const keyOf = ({ level, start }: Pick<RollupPart, 'level' | 'start'>) => `${level}/${start}`

/**
 * Returns the hours and days that may lack capacity for the new parts. `rows` contains the current row counts of hours
 * and days.
 */
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
 * Assigns each part to its own row if the row exists or capacity remains, otherwise to the row of its environment or
 * family. An amount is therefore later subtracted from the row to which it was added, unless that row has been deleted.
 * `full` lists the rows of the hours and days that may lack capacity.
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
