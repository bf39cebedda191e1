/**
 * Joins a column's values into one string, which is sent as one statement parameter and split by the statement.
 *
 * - Numbers, timestamps, JSON and hexadecimal digits never contain control characters. Such values are joined by
 *   U+0001, and null is written as U+0002. Nothing needs to be escaped, so this form costs less CPU than an array
 *   literal (test/bench/RESULTS.md, "How parameters travel").
 * - Other strings may contain any character and are sent as elements of an array literal. A list of strings is one
 *   element, which begins with the list's separator, a character that none of its strings contains.
 *
 * A column is cast in one piece before it is split into rows. Some servers reject updates that cast a column to a type
 * such as timestamptz, because the result depends on session settings.
 */
import type { Column, Value } from './columns.ts'
import { digitsOf } from './list-numbers.ts'

const SEPARATOR = '\u0001'
const NULL_MARK = '\u0002'

const isQuoted = ({ type }: Column): boolean => type === 'text' || type === 'text[]'

const escaped = (text: string): string => (/["\\]/.test(text) ? text.replace(/["\\]/g, '\\$&') : text)
const element = (text: string | null): string => (text === null ? 'null' : `"${escaped(text)}"`)

/** Joins a list into one string, which the SQL of `typed` splits. */
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

/** Returns a column's values as one parameter. */
export function parameter(column: Column, values: readonly Value[]): string {
  const cells = values.map(value => cell(column, value))
  return isQuoted(column) ? `{${cells.join(',')}}` : cells.join(SEPARATOR)
}

/** Returns SQL for a `from` clause that yields the rows of `columns`. `first` is the first parameter number. */
export function rowSource(columns: readonly Column[], first: number, alias: string): string {
  const arrays = columns.map((column, i) =>
    isQuoted(column)
      ? `$${first + i}::text[]`
      : `string_to_array($${first + i}::text, E'\\x01', E'\\x02')::${column.type}[]`
  )
  return `unnest(${arrays.join(', ')}) as ${alias} (${columns.map(({ name }) => name).join(', ')})`
}

/** Returns SQL for a column of `rowSource`, cast to the column's own type. */
export const typed = ({ name, type }: Column, alias: string): string =>
  type === 'text[]' ? `string_to_array(substr(${alias}.${name}, 2), left(${alias}.${name}, 1))` : `${alias}.${name}`
