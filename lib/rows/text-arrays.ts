/**
 * Joins the values of a column into one text, which travels as one parameter of a statement. The statement takes it
 * apart.
 *
 * - Numbers, times, JSON and hexadecimal digits never hold a control character. They are joined by U+0001, null is
 *   U+0002, and nothing is escaped on either side, which costs less CPU than an array literal (test/bench/RESULTS.md,
 *   "How parameters travel").
 * - Other texts can hold any character that a client sends. They are elements of an array literal. So are lists of
 *   texts: each list is joined by a character that none of its texts has, and begins with that character.
 *
 * A column is cast as a whole, before its rows are taken apart: not every server takes an update that casts a
 * column to a type such as timestamptz, since the result depends on settings of the session.
 */
import type { Column, Value } from './columns.ts'
import { digitsOf } from './list-numbers.ts'

const SEPARATOR = '\u0001'
const NULL_MARK = '\u0002'

const isQuoted = ({ type }: Column): boolean => type === 'text' || type === 'text[]'

const escaped = (text: string): string => (/["\\]/.test(text) ? text.replace(/["\\]/g, '\\$&') : text)
const element = (text: string | null): string => (text === null ? 'null' : `"${escaped(text)}"`)

/** A list as one text, which `typed` takes apart. */
function joined(texts: readonly string[]): string {
  let separator = SEPARATOR
  while (texts.some(text => text.includes(separator))) separator = String.fromCharCode(separator.charCodeAt(0) + 1)
  return separator + texts.join(separator)
}

function textOf(value: Exclude<Value, readonly string[] | null>): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  return typeof value === 'object' ? digitsOf(value as Parameters<typeof digitsOf>[0]) : String(value)
}

function cell(column: Column, value: Value): string {
  if (column.type === 'text[]') return element(value === null ? null : joined(value as readonly string[]))
  if (column.type === 'text') return element(value as string | null)
  if (value === null) return NULL_MARK
  const text = textOf(value as Exclude<Value, readonly string[] | null>)
  return column.type === 'bytea' ? `\\x${text}` : text
}

/** The values of a column as one parameter. */
export function parameter(column: Column, values: readonly Value[]): string {
  const cells = values.map(value => cell(column, value))
  return isQuoted(column) ? `{${cells.join(',')}}` : cells.join(SEPARATOR)
}

/** SQL for a `from` clause that gives the rows of `columns`. Their parameters are numbered from `first`. */
export function rowSource(columns: readonly Column[], first: number, alias: string): string {
  const arrays = columns.map((column, i) =>
    isQuoted(column)
      ? `$${first + i}::text[]`
      : `string_to_array($${first + i}::text, E'\\x01', E'\\x02')::${column.type}[]`
  )
  return `unnest(${arrays.join(', ')}) as ${alias} (${columns.map(({ name }) => name).join(', ')})`
}

/** SQL for a column of such a source, in its own type. */
export const typed = ({ name, type }: Column, alias: string): string =>
  type === 'text[]' ? `string_to_array(substr(${alias}.${name}, 2), left(${alias}.${name}, 1))` : `${alias}.${name}`
