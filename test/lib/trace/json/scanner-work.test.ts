/**
 * The cost of reading grows with the length of a text, whatever its content. The test counts searches and takes no
 * times: the engine may search more often than the code says, so each search is as short as the string that it is in.
 */
import t from 'tap'
import { canonicalise, parseExact, stringifyExact } from '../../../../lib/trace/json/exact-json.ts'
import { Scanner } from '../../../../lib/trace/json/scanner.ts'

/** How many characters each search in a text looked at while `work` was done. */
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

t.test('no search goes past the end of the string that it is in', async t => {
  const members = '"name":"value",'.repeat(1000)
  for (const text of [`{"first":0,${unequal(1000)}}`, `["\\n",${members.replaceAll(':', ',')}"\\n"]`]) {
    const searches = searchesDuring(passing(text))
    t.ok(Math.max(...searches) < 20, `the longest of ${searches.length} looked at ${Math.max(...searches)} characters`)
  }
})

t.test('the searches in one string look at each of its characters once', async t => {
  for (const escaped of ['\\n', '\\"', '\\\\', '\\u0061']) {
    const text = `"${escaped.repeat(10_000)}"`
    t.ok(sum(searchesDuring(passing(text))) <= text.length, escaped)
  }
})

// With zeros at the end looked for from each zero, this would take a quarter of an hour.
t.test('a number of a million digits is read as every other', async t => {
  const zeros = '0'.repeat(1_000_000)
  // Beside each number its canonical form, which is empty if that is the number as it stands.
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
  t.equal(canonicalise(parseExact(sent)), '[1.5]', 'zeros that say nothing make no other number')
  // Not by t.equal: to print the difference of two long texts would take the reporter minutes.
  t.ok(stringifyExact(parseExact(sent)) === sent, 'and come back as they were sent')
})

/** Members in no order, each name once. */
function unequal(count: number): string {
  return Array.from({ length: count }, (_, i) => `"n${(i * 7) % count}":"v"`).join(',')
}
