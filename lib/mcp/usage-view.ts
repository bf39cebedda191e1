/** Shows sums over time as an outline: rows without null or zero fields, and only the newest rows if not all fit. */
import type { Static } from 'typebox'
import type { UsageReply } from '../schema/history/usage.ts'
import { detailOption, OUTLINE_FIELDS } from './list-view.ts'
import { cutOutlineText, USUAL_BYTES } from './outline.ts'
import type { ToolView } from './tool.ts'

type Reply = Static<typeof UsageReply>
type Row = Reply['rows'][number]

const NAME_BYTES = 120
/** Fields of rows that are shown if the others do not fit. */
const ESSENTIAL: readonly (keyof Row)[] = ['start', 'key', 'kind', 'isOther', 'traces', 'errors', 'costUsd', 'p95Ms']

export const usageView: ToolView = {
  name: 'usage',
  options: detailOption('all rows with all fields'),
  outputs: [OUTLINE_FIELDS],
  check() {},
  isWhole: ({ detail }) => detail === 'full',
  show: answer => outlineUsage(JSON.parse(answer) as Reply)
}

/** Returns the outline as JSON text. */
export function outlineUsage(usage: Reply): string {
  const { rows, ...rest } = usage
  const outlines = [rows.map(row => shortRow(row)), rows.map(row => shortRow(row, ESSENTIAL))]
  const textOf = (shown: readonly object[], isShort: boolean) =>
    JSON.stringify({ detail: 'outline', ...noteOf(usage, shown.length, isShort), ...withoutNulls(rest), rows: shown })
  for (const [i, shown] of outlines.entries()) {
    const text = textOf(shown, i > 0)
    if (Buffer.byteLength(text) <= USUAL_BYTES) return text
  }
  const shown = [...(outlines[1] as object[])]
  // The newest hours and days are kept, or the groups with the most traces.
  const dropped = (): unknown => (usage.interval === 'none' ? shown.pop() : shown.shift())
  let left = USUAL_BYTES - Buffer.byteLength(textOf([], true))
  for (const row of shown) left -= Buffer.byteLength(JSON.stringify(row)) + 1
  while (left < 0 && shown.length > 1) left += Buffer.byteLength(JSON.stringify(dropped())) + 1
  return textOf(shown, true)
}

function shortRow(row: Row, fields?: readonly (keyof Row)[]): object {
  const entries = Object.entries(row).filter(
    ([name, value]) =>
      value !== null &&
      value !== false &&
      (value !== 0 || name === 'traces') &&
      (fields === undefined || fields.includes(name as keyof Row))
  )
  return Object.fromEntries(
    entries.map(([name, value]) => [name, name === 'key' ? cutOutlineText(value as string, NAME_BYTES) : value])
  )
}

const withoutNulls = (value: object): object =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== null))

function noteOf({ rows, interval }: Reply, shown: number, isShort: boolean): { note?: string } {
  const which = interval === 'none' ? 'first' : 'newest'
  const less = interval === 'none' ? 'a lower limit' : 'a shorter period, a longer interval or a lower limit'
  const said = [
    ...(shown < rows.length
      ? [`This shows the ${which} ${shown} of ${rows.length} rows; for the others, use ${less}.`]
      : []),
    ...(isShort ? [`Rows contain only ${ESSENTIAL.join(', ')}; \`detail\` "full" includes all fields.`] : []),
    ...(rows.length > 0 ? ['Fields that are null or 0 are left out.'] : [])
  ]
  return said.length === 0 ? {} : { note: said.join(' ') }
}
