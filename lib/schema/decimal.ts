/**
 * JSON numbers as they are written. Two spellings are one number if they have the same decimal. All of this takes time
 * in proportion to the length of the spelling, since a body may be one number of two million digits.
 */

const ZERO = 48
/** Integers of this many digits, and sums of two of them, are exact as doubles. */
const EXACT_DIGITS = 15

/** The value of a number is digits × 10^exponent. */
export interface Decimal {
  readonly isNegative: boolean
  /** Significant digits, with no zero at either end; empty for 0. */
  readonly digits: string
  /** The power of ten of the last digit, as a decimal integer: an exponent can be too large for a double. */
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

/** Whether a double holds the number that a JSON literal spells. */
export function isHeld(literal: string): boolean {
  const number = Number(literal)
  return Number.isFinite(number) && isSameSize(decimalOf(literal), decimalOf(String(number)))
}

const isSameSize = (one: Decimal, other: Decimal): boolean =>
  one.digits === other.digits && one.exponent === other.exponent

export const isInteger = ({ digits, exponent }: Decimal): boolean => digits === '' || !exponent.startsWith('-')

/** Less than 0 if the number that a literal spells is less than a double, and 0 if it equals the double. */
export function compareWritten(literal: string, bound: number): number {
  const number = Number(literal)
  // Rounding to a double keeps the order, so only a number that is rounded to the bound can lie on its other side.
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
 * One spelling for all spellings of a number. ECMAScript, and so RFC 8785, would write it if its numbers had any
 * precision, with one difference: there is no exponent if the point is within the digits or after them. So an integer
 * of any length is spelled as most clients write it.
 */
export function normalForm(literal: string): string {
  const { isNegative, digits, exponent } = decimalOf(literal)
  if (digits === '') return '0'
  const sign = isNegative ? '-' : ''
  const shift = Number(exponent)
  /** The number of digits in front of the point. */
  const point = digits.length + shift
  if (shift >= 0 && (shift === 0 || point <= 21)) return sign + digits + '0'.repeat(shift)
  if (shift < 0 && point > 0) return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`
  if (point <= 0 && point > -6) return `${sign}0.${'0'.repeat(-point)}${digits}`
  const power = sum(exponent, digits.length - 1)
  const rest = digits.length === 1 ? '' : `.${digits.slice(1)}`
  return `${sign}${digits[0]}${rest}e${power.startsWith('-') ? '' : '+'}${power}`
}

/** The sum of a decimal integer of any length and a number of few digits. */
function sum(integer: string, addend: number): string {
  const isNegative = integer.startsWith('-')
  const digits = withoutFirstZeros(integer.replace(/^[+-]/, ''))
  if (digits.length <= EXACT_DIGITS) return String((isNegative ? -1 : 1) * Number(digits) + addend)
  // The addend is too small to change the sign: only the last digits change, and what they carry.
  const split = digits.length - EXACT_DIGITS
  const last = Number(digits.slice(split)) + (isNegative ? -addend : addend)
  const base = 10 ** EXACT_DIGITS
  const carry = last < 0 ? -1 : last >= base ? 1 : 0
  const tail = String(last - carry * base).padStart(EXACT_DIGITS, '0')
  const size = withoutFirstZeros(carried(digits.slice(0, split), carry) + tail)
  return isNegative ? `-${size}` : size
}

/** A positive integer with 1 added or taken away. */
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

/** A regular expression would take quadratic time if many zeros precede a last digit. */
function withoutLastZeros(digits: string): string {
  let end = digits.length
  while (digits.charCodeAt(end - 1) === ZERO) end--
  return digits.slice(0, end)
}
