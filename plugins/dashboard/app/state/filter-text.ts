/**
 * The text form of a list's filters: `status:error step:search_orders duration:>2s "free words"`. Parsing is the
 * inverse of rendering. A part that names no field is words to search for.
 */
import type { Filter, Term } from './list-query.ts'

/** The syntax of a field's value. */
type ValueKind = 'text' | 'choice' | 'duration' | 'cost' | 'count' | 'condition'

export interface FilterField {
  readonly name: string
  readonly title: string
  readonly kind: ValueKind
  /** The filter, or the filters for the least and the greatest value. */
  readonly filters: readonly [Filter] | readonly [min: Filter, max: Filter]
  /** Choices, each with its value in the URL. */
  readonly choices?: Readonly<Record<string, string>>
  /** The filter for traces without the number, which is written `none`. */
  readonly none?: Filter
  readonly example: string
}

const text = (name: string, filter: Filter, title: string, example: string): FilterField => ({
  name,
  title,
  kind: 'text',
  filters: [filter],
  example
})
const choice = (name: string, filter: Filter, title: string, choices: readonly string[]): FilterField => ({
  name,
  title,
  kind: 'choice',
  filters: [filter],
  choices: Object.fromEntries(choices.map(each => [each, each])),
  example: choices[0]!
})

export const FIELDS: readonly FilterField[] = [
  choice('status', 'status', 'Status', ['error', 'ok', 'running', 'unset']),
  text('name', 'name', 'Name', 'support-agent'),
  text('model', 'model', 'Model', 'gpt-5-mini'),
  text('tag', 'tag', 'Tag', 'prompt:v12'),
  text('env', 'env', 'Environment', 'production'),
  text('user', 'user', 'User', 'ada@example.com'),
  text('session', 'session', 'Session', 'chat-42'),
  text('step', 'step', 'Step name', 'search_orders'),
  choice('kind', 'kind', 'Step kind', 'llm tool agent retriever embedding reranker chain custom'.split(' ')),
  choice('stepstatus', 'stepStatus', 'Step status', ['error', 'ok', 'unset']),
  text('error', 'error', 'Error', 'TimeoutError'),
  {
    name: 'failed',
    title: 'Any failure',
    kind: 'choice',
    filters: ['failed'],
    choices: { yes: 'true' },
    example: 'yes'
  },
  { name: 'score', title: 'Score', kind: 'condition', filters: ['score'], example: 'helpfulness<0.5' },
  {
    name: 'annotated',
    title: 'Annotated',
    kind: 'choice',
    filters: ['annotated'],
    choices: { yes: 'true', no: 'false' },
    example: 'yes'
  },
  { name: 'duration', title: 'Duration', kind: 'duration', filters: ['minDuration', 'maxDuration'], example: '>2s' },
  { name: 'cost', title: 'Cost in $', kind: 'cost', filters: ['minCost', 'maxCost'], none: 'noCost', example: '>0.1' },
  { name: 'tokens', title: 'Tokens', kind: 'count', filters: ['minTokens', 'maxTokens'], example: '>10k' }
]

export const fieldOf = (filter: Filter): FilterField | undefined =>
  FIELDS.find(({ filters, none }) => none === filter || filters.some(each => each === filter))

/** A part of a text that cannot be understood, and why. */
export interface TextFault {
  readonly part: string
  readonly message: string
  /** The part as it may have been meant. */
  readonly better?: string
}

export interface ParsedText {
  readonly terms: readonly Term[]
  readonly faults: readonly TextFault[]
}

/** A part of a text, delimited by spaces that are not in quotes. */
const PART = /(?:"(?:\\.|[^"\\])*"?|\S)+/gs
/** A name that is followed by a value. Addresses such as `https://…` are words. */
const NAMED = /^([A-Za-z]+):(?!\/\/)(.*)$/s

export const typedParts = (typed: string): string[] => typed.match(PART) ?? []

export function parseFilters(typed: string): ParsedText {
  const terms: Term[] = []
  const faults: TextFault[] = []
  const words: string[] = []
  for (const part of typedParts(typed)) {
    const [, name, written] = NAMED.exec(part) ?? []
    if (name === undefined || written === undefined || written === '') {
      const field = written === '' ? FIELDS.find(each => each.name === name?.toLowerCase()) : undefined
      if (field === undefined) words.push(part)
      else faults.push({ part, message: `Add a value, such as ${field.name}:${field.example}.` })
      continue
    }
    const field = fieldNamed(name)
    const read = field === undefined ? unknownField(name, written) : readPart(field, written)
    if ('message' in read) faults.push({ part, ...read })
    else terms.push(...read)
  }
  if (words.length > 0) terms.push({ filter: 'q', value: words.join(' ') })
  return { terms, faults }
}

function fieldNamed(name: string): FilterField | undefined {
  const lower = name.toLowerCase()
  return FIELDS.find(each => each.name === lower) ?? FIELDS.find(each => ALIASES[lower] === each.name)
}

type PartFault = Omit<TextFault, 'part'>
const faultOf = (message: string, better?: string): PartFault => ({ message, ...(better && { better }) })

function unknownField(name: string, written: string): PartFault {
  const near = FIELDS.find(each => isNear(each.name, name.toLowerCase()))
  const message = `There is no field “${name}”. Put the text in quotes to search for it.`
  return faultOf(message, near && `${near.name}:${written}`)
}

/** Returns the terms that a part states, or what is wrong with the part. */
function readPart(field: FilterField, written: string): readonly Term[] | PartFault {
  const { name } = field
  const value = unquoted(written)
  const [filter, max] = field.filters
  if (field.kind === 'choice') {
    const choices = Object.keys(field.choices!)
    const stored = field.choices![value.toLowerCase()]
    if (stored !== undefined) return [{ filter, value: stored }]
    const near = choices.find(each => isNear(each, value.toLowerCase()))
    return faultOf(`Use ${orList(choices)}.`, near && `${name}:${near}`)
  }
  if (field.kind === 'condition') {
    return /^[A-Za-z0-9_-]{1,64}(?:<=|>=|<|>|=)./s.test(value)
      ? [{ filter, value }]
      : faultOf('Enter a score, a comparison and a value, such as score:helpfulness<0.5.')
  }
  if (field.kind === 'text')
    return value === '' ? faultOf(`Add a value, such as ${name}:${field.example}.`) : [{ filter, value }]
  if (field.none !== undefined && value.toLowerCase() === WITHOUT) return [{ filter: field.none, value: 'true' }]
  const [, comparison, amount = ''] = /^(<=?|>=?|[≤≥])(.*)$/s.exec(value) ?? []
  const number = comparison === undefined ? undefined : readAmount(field.kind, amount.trim())
  if (number === undefined) {
    const isPlain = comparison === undefined && readAmount(field.kind, value.trim()) !== undefined
    const message = `Write ${name}:${field.example} or ${name}:${field.example.replace('>', '<')}.`
    return faultOf(message, isPlain ? `${name}:${quoted(`>${value}`)}` : undefined)
  }
  return [{ filter: /^[>≥]/.test(comparison!) ? filter : max!, value: number }]
}

const ALIASES: Readonly<Record<string, string>> = {
  environment: 'env',
  latency: 'duration',
  tags: 'tag',
  sessionid: 'session',
  userid: 'user'
}

/** How a missing number is written. */
export const WITHOUT = 'none'

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, min: 60_000, m: 60_000, h: 3_600_000 }
const MANY: Readonly<Record<string, number>> = { '': 1, k: 1000, m: 1_000_000 }
const AMOUNT = /^\$?(\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*([a-z]*)$/i

/** Returns the number as the server expects it, in ms, $ or tokens. */
function readAmount(kind: ValueKind, written: string): string | undefined {
  const [, digits, unit = ''] = AMOUNT.exec(written.replaceAll(',', '')) ?? []
  const factor =
    kind === 'duration'
      ? UNITS[unit.toLowerCase() || 's']
      : kind === 'count'
        ? MANY[unit.toLowerCase()]
        : unit === ''
          ? 1
          : undefined
  if (digits === undefined || factor === undefined) return undefined
  const amount = Number(digits) * factor
  const exact = kind === 'cost' ? amount : Math.round(amount)
  return Number.isFinite(exact) && (kind === 'cost' || Number.isSafeInteger(exact)) ? String(exact) : undefined
}

/** Formats a term as it can be typed. */
export function renderTerm({ filter, value }: Term): string {
  if (filter === 'q') return typedParts(value).map(asWords).join(' ')
  const field = fieldOf(filter)!
  const [min, max] = field.filters
  if (field.kind === 'choice') {
    const [name = value] = Object.entries(field.choices!).find(([, stored]) => stored === value) ?? []
    return `${field.name}:${quoted(name)}`
  }
  if (filter === field.none) return `${field.name}:${WITHOUT}`
  if (max === undefined) return `${field.name}:${quoted(value)}`
  return `${field.name}:${filter === min ? '>=' : '<='}${renderAmount(field.kind, value)}`
}

export const renderTerms = (terms: readonly Term[]): string => terms.map(renderTerm).join(' ')

function renderAmount(kind: ValueKind, value: string): string {
  if (kind !== 'duration') return value
  const ms = Number(value)
  for (const unit of ['h', 'min', 's'] as const)
    if (ms > 0 && ms % UNITS[unit]! === 0) return `${ms / UNITS[unit]!}${unit}`
  return `${value}ms`
}

/** Formats a term for people: the field's title and the value with its unit. */
export function describeTerm(term: Term): { readonly title: string; readonly value: string } {
  const { filter, value } = term
  if (filter === 'q') return { title: 'Words', value }
  const field = fieldOf(filter)!
  const written = renderTerm(term).slice(field.name.length + 1)
  if (field.kind === 'text' || field.kind === 'condition') return { title: field.title, value }
  if (field.kind === 'choice') return { title: field.title, value: unquoted(written) }
  if (filter === field.none) return { title: field.title.replace(' in $', ''), value: WITHOUT }
  const [, sign, amount] = /^([<>]=)(.*)$/.exec(written)!
  const shown = field.kind === 'cost' ? `$${amount}` : amount!.replace(/(\d)([a-z]+)$/, '$1 $2')
  return { title: field.title.replace(' in $', ''), value: `${sign === '>=' ? '≥' : '≤'} ${shown}` }
}

/** Puts words in quotes that would be read as a field. */
function asWords(part: string): string {
  const [, name, written] = NAMED.exec(part) ?? []
  const isField = name !== undefined && (written !== '' || FIELDS.some(each => each.name === name.toLowerCase()))
  return isField ? `"${part.replaceAll('"', '')}"` : part
}

const quoted = (value: string): string =>
  value === '' || /[\s"\\]|^\/\//.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : value

function unquoted(written: string): string {
  if (!written.startsWith('"')) return written
  const inner = written.endsWith('"') && written.length > 1 ? written.slice(1, -1) : written.slice(1)
  return inner.replace(/\\(["\\])/g, '$1')
}

const orList = (names: readonly string[]): string =>
  names.length === 1 ? names[0]! : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`

/** Whether a name is a beginning of the other, or has the same letters in another order. */
function isNear(name: string, typed: string): boolean {
  const letters = (text: string) => [...text].sort().join('')
  return (typed.length > 1 && name.startsWith(typed)) || typed.startsWith(name) || letters(name) === letters(typed)
}
