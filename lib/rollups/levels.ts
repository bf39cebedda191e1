/**
 * Rollup levels. A rollup sums the traces of one group in one hour, day or fortnight. The table stores each level as
 * one character (sql/0006-rollups.sql, sql/0011-fortnights.sql); TypeScript code uses the names.
 */

export const GROUPS = ['environment', 'family', 'nameInEnvironment', 'nameInFamily'] as const
/** A rollup sums the traces of an environment or a family, either all traces or only those with one name. */
export type RollupGroup = (typeof GROUPS)[number]

export const LEVELS = {
  hour: { environment: 'e', family: 'f', nameInEnvironment: 'n', nameInFamily: 'k' },
  day: { environment: 'E', family: 'F', nameInEnvironment: 'N', nameInFamily: 'K' },
  fortnight: { environment: '1', family: '2', nameInEnvironment: '3', nameInFamily: '4' }
} as const
export type RollupLength = keyof typeof LEVELS
export type RollupLevel = (typeof LEVELS)[RollupLength][RollupGroup]

export const levelsOf = (...lengths: readonly RollupLength[]): RollupLevel[] =>
  lengths.flatMap(length => GROUPS.map(group => LEVELS[length][group]))

export const levelArray = (levels: readonly string[]): string => `'{${levels.join(',')}}'::"char"[]`
