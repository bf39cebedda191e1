import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { compareWritten, decimalOf, isHeld, isInteger, normalForm } from '../../../lib/schema/decimal.ts'
import { runs } from '../../torture/orders.ts'

/** A number as an integer coefficient and an exponent: coefficient × 10^exponent. */
interface Value {
  readonly coefficient: bigint
  readonly exponent: number
}
interface Spelled {
  readonly value: Value
  readonly literals: readonly string[]
}

/** A number and its spellings: the decimal point at any position, additional zeros, and a matching exponent. */
const spelled: fc.Arbitrary<Spelled> = fc
  .record({
    isNegative: fc.boolean(),
    digits: fc.stringMatching(/^(0|[1-9]\d{0,24})$/),
    exponent: fc.oneof(fc.integer({ min: -30, max: 30 }), fc.integer({ min: -420, max: 420 })),
    ways: fc.array(
      fc.record({
        zeros: fc.nat(4),
        point: fc.integer({ min: -4, max: 30 }),
        mark: fc.constantFrom('e', 'E', 'e+', 'E+'),
        padding: fc.nat(2)
      }),
      { minLength: 2, maxLength: 4 }
    )
  })
  .map(({ isNegative, digits, exponent, ways }) => ({
    value: { coefficient: BigInt(digits) * (isNegative ? -1n : 1n), exponent },
    literals: ways.map(({ zeros, point, mark, padding }) => {
      const sign = isNegative ? '-' : ''
      const all = digits + '0'.repeat(zeros)
      const whole = point <= 0 ? '0' : all.slice(0, point).padEnd(point, '0')
      const fraction = point <= 0 ? '0'.repeat(-point) + all : all.slice(point)
      const power = exponent + digits.length - point
      const powerText = `${power < 0 ? `${mark[0]}-` : mark}${String(Math.abs(power)).padStart(padding, '0')}`
      const first = digits === '0' && point > 0 ? '0' : whole
      return sign + first + (fraction === '' ? '' : `.${fraction}`) + (power === 0 && padding < 2 ? '' : powerText)
    })
  }))

/** Returns the two coefficients for a common exponent. */
function aligned(one: Value, other: Value): [bigint, bigint] {
  const least = Math.min(one.exponent, other.exponent)
  const at = ({ coefficient, exponent }: Value) => coefficient * 10n ** BigInt(exponent - least)
  return [at(one), at(other)]
}
const isSame = (one: Value, other: Value) => {
  const [a, b] = aligned(one, other)
  return a === b
}
/** Returns the value of a JSON number with a small exponent. */
function read(literal: string): Value {
  const [mantissa = '', exponent = '0'] = literal.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  return { coefficient: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length }
}
/** Returns the value of a double. */
const ofDouble = (number: number): Value => read(String(number))

t.test('every spelling of a number has one normal form, which is itself a spelling of it', async () => {
  fc.assert(
    fc.property(spelled, spelled, (one, other) => {
      const forms = new Set(one.literals.map(normalForm))
      assert.equal(forms.size, 1, [...forms].join(' '))
      const [form = ''] = forms
      assert.ok(isSame(read(form), one.value), form)
      assert.equal(normalForm(form), form)
      assert.doesNotThrow(() => JSON.parse(form))
      const [literal = ''] = other.literals
      assert.equal(normalForm(literal) === form, isSame(one.value, other.value))
    }),
    runs(1000)
  )
})

t.test(
  'determines whether a double holds a number, whether it is an integer, and on which side of a bound it lies',
  async () => {
    const bound = fc.oneof(
      fc.constantFrom(0, 1, -1, 2 ** 53 - 1, 5e-324),
      fc.double({ noNaN: true, noDefaultInfinity: true })
    )
    /** Numbers close to the bound. They differ from it in a digit far to the right. */
    const near = fc.tuple(bound, fc.constantFrom(-1n, 0n, 1n), fc.nat(30)).map(([bound, step, far]) => {
      const { coefficient, exponent } = ofDouble(bound)
      const value = { coefficient: coefficient * 10n ** BigInt(far) + step, exponent: exponent - far }
      return { bound, value, literals: [`${value.coefficient}e${value.exponent}`] }
    })
    const far = fc.tuple(bound, spelled).map(([bound, each]) => ({ bound, ...each }))
    fc.assert(
      fc.property(fc.oneof(near, far), ({ bound, value, literals }) => {
        for (const literal of literals) {
          const number = Number(literal)
          assert.equal(isHeld(literal), Number.isFinite(number) && isSame(ofDouble(number), value), literal)
          const whole = value.exponent >= 0 || value.coefficient % 10n ** BigInt(-value.exponent) === 0n
          assert.equal(isInteger(decimalOf(literal)), whole, literal)
          const [a, b] = aligned(value, ofDouble(bound))
          assert.equal(Math.sign(compareWritten(literal, bound)), a < b ? -1 : a > b ? 1 : 0, `${literal} ${bound}`)
        }
      }),
      runs(1000)
    )
  }
)

t.test('accepts exponents that no double holds', async t => {
  const same: [string, string][] = [
    ['1e99999999999999999999', '10e99999999999999999998'],
    ['1e100000000000000000000', '10e99999999999999999999'],
    ['0.001e-99999999999999999999', '1e-100000000000000000002'],
    ['1000e-100000000000000000002', '1e-99999999999999999999'],
    ['12e0000099999999999999999999', '1.2E+100000000000000000000'],
    ['1e1000000000000000', '10e999999999999999'],
    ['0e99999999999999999999', '-0']
  ]
  for (const [one, other] of same) t.equal(normalForm(one), normalForm(other), one)
  t.not(normalForm('1e99999999999999999999'), normalForm('1e99999999999999999998'))
  t.not(normalForm('1e99999999999999999999'), normalForm('1e-99999999999999999999'))
  t.equal(isHeld('1e99999999999999999999'), false)
  t.equal(isInteger(decimalOf('1e99999999999999999999')), true)
  t.equal(isInteger(decimalOf('1e-99999999999999999999')), false)
})

t.test('processes numbers as long as a body in linear time', async t => {
  const long = 2_000_000
  const nines = '9'.repeat(long)
  t.equal(normalForm(`1e${nines}`), `1e+${nines}`)
  t.equal(normalForm(`10e${nines}`), `1e+1${'0'.repeat(long)}`)
  t.equal(normalForm(`0.1e1${'0'.repeat(long)}`), `1e+${nines}`)
  t.equal(normalForm(`0.${'0'.repeat(long)}1`), `1e-${long + 1}`)
  t.equal(normalForm(`1${'0'.repeat(long)}1.${'0'.repeat(long)}`), `1${'0'.repeat(long)}1`)
  t.equal(normalForm(nines), nines)
})
