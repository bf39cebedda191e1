/** The entries that the filter box offers for the typed text. */
import type { SuggestedValues } from '../contract.ts'
import { FIELDS, type FilterField, renderTerm, typedParts, WITHOUT } from '../state/filter-text.ts'
import type { Filter } from '../state/list-query.ts'

export interface FilterEntry {
  readonly label: string
  readonly note?: string
  /** Number of traces with the value. */
  readonly count?: number
  /** The text of the box once the entry is chosen. */
  readonly text: string
  /** Whether the text is complete and applies immediately. */
  readonly isComplete: boolean
}

const MOST = 12

/**
 * Returns the entry that Enter chooses if none is selected: the only value that begins with the typed value, or the
 * only field that begins with the typed name. A typed value that exists stays as it is.
 */
export function loneValue(entries: readonly FilterEntry[], typed: string): FilterEntry | undefined {
  const { part, field, value } = lastPart(typed)
  const wanted = (field === undefined ? part : value).toLowerCase()
  if (wanted === '') return undefined
  const isOffered = ({ isComplete, note }: FilterEntry) => field !== undefined || (!isComplete && note !== undefined)
  const [only, ...others] = entries.filter(each => isOffered(each) && each.label.toLowerCase().startsWith(wanted))
  if (only === undefined || others.length > 0 || only.label.toLowerCase() === wanted) return undefined
  return field !== undefined || part.length > 1 ? only : undefined
}

/** The part that is being typed: a field with the beginning of a value, or the beginning of anything. */
export interface TypedPart {
  /** The text before the part. */
  readonly before: string
  readonly part: string
  readonly field: FilterField | undefined
  readonly value: string
}

export function lastPart(typed: string): TypedPart {
  const last = typedParts(typed).at(-1) ?? ''
  const part = typed.endsWith(last) ? last : ''
  const before = typed.slice(0, typed.length - part.length)
  const [, name, value = ''] = /^([A-Za-z]+):"?(.*?)"?$/s.exec(part) ?? []
  const field = name === undefined ? undefined : FIELDS.find(each => each.name === name.toLowerCase())
  return { before, part, field, value: field === undefined ? '' : value }
}

export function entriesFor(typed: string, known: SuggestedValues | undefined): FilterEntry[] {
  const { before, part, field, value } = lastPart(typed)
  if (field !== undefined) return valuesOf(field, value, known).map(entry => ({ ...entry, text: before + entry.text }))
  const wanted = part.toLowerCase()
  const fields = FIELDS.filter(({ name, title }) => name.startsWith(wanted) || title.toLowerCase().includes(wanted))
  const entries: FilterEntry[] = fields.map(({ name, title, example }) => ({
    label: `${name}:`,
    note: title === name ? example : `${title}, such as ${example}`,
    text: `${before}${name}:`,
    isComplete: false
  }))
  const words = typed.trim()
  if (part === '' || part.includes(':')) return entries
  return [...entries, { label: `Search for “${words}”`, text: words, isComplete: true }]
}

/** Returns the entry for traces that lack this value. */
const noneOf = (filter: Filter): FilterEntry => ({
  label: WITHOUT,
  text: renderTerm({ filter, value: 'true' }),
  isComplete: true
})

function valuesOf(field: FilterField, typed: string, known: SuggestedValues | undefined): FilterEntry[] {
  const [filter] = field.filters
  const counts = new Map((known?.values ?? []).map(({ value, traces }) => [value, traces]))
  const all = field.choices === undefined ? [...counts.keys()] : Object.keys(field.choices)
  if (field.none !== undefined) return WITHOUT.startsWith(typed.toLowerCase()) ? [noneOf(field.none)] : []
  const wanted = typed.toLowerCase()
  const rankOf = (value: string) => Number(!value.toLowerCase().startsWith(wanted))
  return all
    .filter(value => value.toLowerCase().includes(wanted))
    .sort((one, other) => rankOf(one) - rankOf(other))
    .slice(0, MOST)
    .map(value => ({
      label: value,
      ...(counts.has(value) && { count: counts.get(value)! }),
      text:
        field.kind === 'condition'
          ? `${field.name}:${value}<`
          : renderTerm({ filter, value: field.choices?.[value] ?? value }),
      isComplete: field.kind !== 'condition'
    }))
}
