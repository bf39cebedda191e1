/** Uses up a second factor, as a part of the statement that signs its user in. */
import type { Sql } from 'postgres'

/** A second factor that a person has just used at sign-in. */
export type ShownFactor = { readonly step: number; readonly sealed: string } | { readonly recovery: string } | undefined

/**
 * Returns steps of a sign-in that use up the shown factor. The step `factored` has a row if the user needs no second
 * factor, or has shown one that was not used before.
 */
export function usingFactor(sql: Sql, userId: number, shown: ShownFactor) {
  const own = sql`user_id = ${userId} and confirmed_at is not null`
  const used =
    shown === undefined
      ? sql`select user_id from second_factors where false`
      : 'step' in shown
        ? sql`
          update second_factors set last_step = ${shown.step}, secret = ${shown.sealed}
          where ${own} and (last_step is null or last_step < ${shown.step}) returning user_id`
        : sql`
          update second_factors set recovery = array_remove(recovery, ${shown.recovery})
          where ${own} and ${shown.recovery} = any (recovery) returning user_id`
  return sql`
    used as (
      ${used}
    ), factored as (
      select user_id from used
      union all
      select ${userId}::int where not exists (select from second_factors where ${own})
    )`
}
