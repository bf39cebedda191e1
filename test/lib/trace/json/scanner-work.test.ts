/**
 * The cost of reading is proportional to the length of a text, whatever its content. The test counts the characters
 * that searches examine instead of measuring time: the engine may search more often than the code shows, so each search
 * is bounded by the string that it searches.
 */
import t from 'tap'
import { canonicalise, parseExact, stringifyExact } from '../../../../lib/trace/json/exact-json.ts'
import { Scanner } from '../../../../lib/trace/json/scanner.ts'

/** Returns, for each search during `work`, the number of characters that it examined. */
function searchesDuring(work: () => void): number[] {
  const searches: number[] = []
  const { indexOf } = String.prototype
  String.prototype.indexOf = function (this: string, what: string, from = 0) {
    const found = indexOf.call(this, what, from)
    searches.push((found < 0 ? this.length : found + 1) - from)
    return found
  }
  try {
    work()
  } finally {
    String.prototype.indexOf = indexOf
  }
  return searches
}

function passing(text: string): () => void {
  const scanner = new Scanner()
  scanner.start(text, 10)
  return () => {
    scanner.value()
    scanner.end()
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0)

t.test('no search goes beyond the end of its string', async t => {
  const members = '"name":"value",'.repeat(1000)
  for (const text of [`{"first":0,${unequal(1000)}}`, `["\\n",${members.replaceAll(':', ',')}"\\n"]`]) {
    const searches = searchesDuring(passing(text))
    t.ok(Math.max(...searches) < 20, `the longest of ${searches.length} read ${Math.max(...searches)} characters`)
  }
})

t.test('the searches in a string visit each of its characters once', async t => {
  for (const escaped of ['\\n', '\\"', '\\\\', '\\u0061']) {
    const text = `"${escaped.repeat(10_000)}"`
    t.ok(sum(searchesDuring(passing(text))) <= text.length, escaped)
  }
})

// If a search for trailing zeros started at each zero, this test would take a quarter of an hour.
t.test('a number with a million digits is read like any other', async t => {
  const zeros = '0'.repeat(1_000_000)
  // Each number with its canonical form, which is empty if the number is already canonical.
  const numbers = [
    [`0.1${zeros}1`, ''],
    [`-0.${zeros}01`, '[-1e-1000002]'],
    [`1${zeros}1`, '']
  ]
  for (const [number, canonical] of numbers) {
    t.ok(stringifyExact(parseExact(`[${number}]`)) === `[${number}]`, 'kept')
    const scanner = new Scanner()
    scanner.start(`[${number}]`, 10)
    t.equal(scanner.value(), canonical)
  }
  const sent = `[1.5${zeros}]`
  t.equal(canonicalise(parseExact(sent)), '[1.5]', 'insignificant zeros do not change a number')
  // The test does not use t.equal, because the reporter would take minutes to print a diff of two long texts.
  t.ok(stringifyExact(parseExact(sent)) === sent, 'and are returned as sent')
})

/** Returns members in no particular order, each with a unique name. */
function unequal(count: number): string {
  return Array.from({ length: count }, (_, i) => `"n${(i * 7) % count}":"v"`).join(',')
}
