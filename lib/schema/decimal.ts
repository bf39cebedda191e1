/**
 * Compares JSON numbers as written. Two spellings denote the same number if the resulting decimals are equal. All
 * functions run in linear time, because a body may be a single number of two million digits.
 */

const ZERO = 48
/** Maximum number of digits with which an integer, and a sum of two such integers, is always exact as a double. */
const EXACT_DIGITS = 15

/** A number whose absolute value is digits × 10^exponent. */
export interface Decimal {
  readonly isNegative: boolean
  /** Significant digits without leading or trailing zeros; empty for 0. */
  readonly digits: string
  /** The last digit's power of ten. A string, because the exponent may be too large for a double. */
  readonly exponent: string
}

export function decimalOf(literal: string): Decimal {
  const [mantissa = '', exponent = '0'] = literal.toLowerCase().split('e')
  const isNegative = mantissa.startsWith('-')
  const [whole = '', fraction = ''] = (isNegative ? mantissa.slice(1) : mantissa).split('.')
  const all = withoutFirstZeros(whole + fraction)
  const digits = withoutLastZeros(all)
  if (digits === '') return { isNegative, digits, exponent: '0' }
  return { isNegative, digits, exponent: sum(exponent, all.length - digits.length - fraction.length) }
}

/** Whether a double represents a JSON literal exactly. */
export function isHeld(literal: string): boolean {
  const number = Number(literal)
  return Number.isFinite(number) && isSameSize(decimalOf(literal), decimalOf(String(number)))
}

const isSameSize = (one: Decimal, other: Decimal): boolean =>
  one.digits === other.digits && one.exponent === other.exponent

export const isInteger = ({ digits, exponent }: Decimal): boolean => digits === '' || !exponent.startsWith('-')

/** Returns a negative number if the literal is less than the double, 0 if equal, or a positive number if greater. */
export function compareWritten(literal: string, bound: number): number {
  const number = Number(literal)
  // Rounding preserves order, so only a number that rounds to the bound needs an exact comparison.
  if (number !== bound) return number < bound ? -1 : 1
  const one = decimalOf(literal)
  if (one.digits === '') return 0
  const size = bound === 0 ? 1 : comparePositive(one, decimalOf(String(bound)))
  return one.isNegative ? 0 - size : size
}

function comparePositive(one: Decimal, other: Decimal): number {
  const point = ({ digits, exponent }: Decimal) => digits.length + Number(exponent)
  if (point(one) !== point(other)) return point(one) - point(other)
  return one.digits === other.digits ? 0 : one.digits < other.digits ? -1 : 1
}

/**
 * Returns the same spelling for every spelling of a number. Follows ECMAScript, and therefore RFC 8785, as if
 * JavaScript numbers had unlimited precision, but writes no exponent if the decimal point is within or right after the
 * digits. Integers of any length are thus spelled the way most clients write integers.
 */
export function normalForm(literal: string): string {
  const { isNegative, digits, exponent } = decimalOf(literal)
  if (digits === '') return '0'
  const sign = isNegative ? '-' : ''
  const shift = Number(exponent)
  /** Number of digits before the decimal point. */
  const point = digits.length + shift
  if (shift >= 0 && (shift === 0 || point <= 21)) return sign + digits + '0'.repeat(shift)
  if (shift < 0 && point > 0) return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`
  if (point <= 0 && point > -6) return `${sign}0.${'0'.repeat(-point)}${digits}`
  const power = sum(exponent, digits.length - 1)
  const rest = digits.length === 1 ? '' : `.${digits.slice(1)}`
  return `${sign}${digits[0]}${rest}e${power.startsWith('-') ? '' : '+'}${power}`
}

/** Adds a small number to a decimal integer of any length. */
function sum(integer: string, addend: number): string {
  const isNegative = integer.startsWith('-')
  const digits = withoutFirstZeros(integer.replace(/^[+-]/, ''))
  if (digits.length <= EXACT_DIGITS) return String((isNegative ? -1 : 1) * Number(digits) + addend)
  // The addend is too small to change the sign. Only the last digits change, apart from a carry.
  const split = digits.length - EXACT_DIGITS
  const last = Number(digits.slice(split)) + (isNegative ? -addend : addend)
  const base = 10 ** EXACT_DIGITS
  const carry = last < 0 ? -1 : last >= base ? 1 : 0
  const tail = String(last - carry * base).padStart(EXACT_DIGITS, '0')
  const size = withoutFirstZeros(carried(digits.slice(0, split), carry) + tail)
  return isNegative ? `-${size}` : size
}

/** Adds `carry` to a positive integer. */
function carried(digits: string, carry: -1 | 0 | 1): string {
  if (carry === 0) return digits
  const [over, from, to] = carry === 1 ? ['9', '9', '0'] : ['0', '0', '9']
  let end = digits.length
  while (end > 0 && digits[end - 1] === over) end--
  const turned = digits.slice(end).replaceAll(from, to)
  if (end === 0) return `1${turned}`
  return digits.slice(0, end - 1) + String(Number(digits[end - 1]) + carry) + turned
}

function withoutFirstZeros(digits: string): string {
  let from = 0
  while (digits.charCodeAt(from) === ZERO) from++
  return digits.slice(from)
}

/** Removes trailing zeros. A regular expression would take quadratic time for many zeros before a last digit. */
function withoutLastZeros(digits: string): string {
  let end = digits.length
  while (digits.charCodeAt(end - 1) === ZERO) end--
  return digits.slice(0, end)
}
