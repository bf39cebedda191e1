/** The text below a list of sessions or users that says how many it shows. */
import { formatCount, formatCounted } from '../ui/format.ts'

/** Number of groups in a list that is sorted by a sum. Such a list has a single page. */
export const GROUPS_SHOWN = 100

/** `by` is the sum that sorts the list; undefined if the list is sorted by time and has pages. */
export function groupCount(groups: number, one: string, by: string | undefined): string {
  if (by === undefined) return `${formatCounted(groups, one)} on this page`
  return groups < GROUPS_SHOWN ? formatCounted(groups, one) : `The first ${formatCount(groups)} ${one}s by ${by}`
}
