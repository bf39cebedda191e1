import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { DOCUMENT_BYTES } from '../../../../clients/typescript/record/fields.ts'
import { writeValue } from '../../../../clients/typescript/record/values.ts'

const write = (value: unknown, bytes = 100_000) => writeValue('value', value, { bytes })
const read = (value: unknown, bytes?: number) => JSON.parse(write(value, bytes)!.text)
/** Number of bytes allowed for closing brackets and cut marks. */
const SLACK = 8000

t.test('JSON values are written as JSON.stringify writes them', t => {
  fc.assert(
    fc.property(fc.jsonValue(), value => {
      const written = write(value)!
      t.equal(written.text, JSON.stringify(value))
      t.equal(written.bytes, Buffer.byteLength(written.text))
      t.equal(written.cuts, 0)
    }),
    { numRuns: 100 }
  )
  t.end()
})

t.test('any value becomes JSON that hardly exceeds its budget', t => {
  const values = fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true, withTypedArray: true })
  fc.assert(
    fc.property(values, fc.integer({ min: 0, max: 500 }), (value, bytes) => {
      const written = write(value, bytes)
      if (written === undefined) return
      JSON.parse(written.text)
      if (Buffer.byteLength(written.text) > bytes + SLACK) t.fail(`${written.text.length} for ${bytes}`)
    }),
    { numRuns: 300 }
  )
  t.end()
})

t.test('values that are not JSON are described in words', t => {
  const circle: unknown[] = []
  circle.push(circle, { circle })
  class Plain {
    shown = 1
    #hidden = 2
    get sum() {
      return this.#hidden
    }
  }
  const cause = new RangeError('deep')
  const error = Object.assign(new TypeError('odd', { cause }), { code: 7 })
  const throwing = {
    good: 1,
    get bad() {
      throw new Error('no')
    }
  }
  const table: [unknown, unknown][] = [
    [circle, ['[circular]', { circle: '[circular]' }]],
    [{ a: undefined, b: () => 1, c: Symbol('s'), d: [undefined, () => 1] }, { d: [null, null] }],
    [123n, '123'],
    [
      [Number.NaN, -Infinity, -0],
      ['NaN', '-Infinity', 0]
    ],
    [new Date(0), '1970-01-01T00:00:00.000Z'],
    [new Date(Number.NaN), 'Invalid Date'],
    [new Map([['a', { b: 1 }]]), { a: { b: 1 } }],
    [new Map([[1, 2]]), [[1, 2]]],
    [new Set([1, 'x']), [1, 'x']],
    [/a+/g, '/a+/g'],
    [new URL('https://x.example/?q'), 'https://x.example/?q'],
    [Buffer.from('abc'), '[Buffer of 3 bytes]'],
    [new Float64Array(4), '[Float64Array of 32 bytes]'],
    [new Plain(), { shown: 1 }],
    [new WeakMap(), '[WeakMap]'],
    [Promise.resolve(1), '[Promise]'],
    [Object.create(null), {}],
    [throwing, { good: 1, bad: '[not readable: no]' }],
    [
      {
        toJSON() {
          throw new Error('no')
        }
      },
      '[not readable: no]'
    ],
    [new Proxy({}, { ownKeys: () => [][1]! }), /^\[not readable: /],
    ['\ud800', '\ud800']
  ]
  for (const [value, expected] of table) t.match(read(value), expected)
  t.match(read(error), { name: 'TypeError', message: 'odd', code: 7, cause: { name: 'RangeError', message: 'deep' } })
  const named = Object.assign(new Error('odd'), { name: 'Own' })
  t.equal(write(named)!.text.split('"name"').length, 2, 'an own property that all errors have appears once')
  let deep: unknown = 'end'
  for (let i = 0; i < 1000; i++) deep = [deep]
  t.match(write(deep)!.text, '"[deeper than 64 levels]"')
  for (const nothing of [undefined, () => 1, Symbol('s')]) t.equal(write(nothing), undefined)
  t.end()
})

t.test('long values are cut, and state how much is missing', t => {
  t.equal(read('x'.repeat(1_000_000), 1000), `${'x'.repeat(1000)}…[cut 999,000 characters]`)
  t.match(read('\u0001'.repeat(1000), 600), /^\u0001{100}…\[cut 900 characters]$/)
  t.match(read('😀'.repeat(1000), 402), /^(😀)+…/u)
  const list = read(Array(10_000).fill('item'), 1000)
  t.match(list.at(-1), /^…\[cut 9,\d{3} items]$/)
  t.match(read(Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`k${i}`, i])), 1000)['…'], /cut \d+ members/)
  t.end()
})

t.test('a picture in a data URL is kept as long as it fits', t => {
  const asked = (bytes: number) => [
    { type: 'text', text: 'What is this?' },
    { type: 'image_url', image_url: { url: `data:image/png;base64,${Buffer.alloc(bytes, 7).toString('base64')}` } }
  ]
  t.same(read(asked(255_000), DOCUMENT_BYTES / 2), asked(255_000))
  const cut = read(asked(300_000), DOCUMENT_BYTES / 2)
  t.equal(cut[0].text, 'What is this?')
  t.match(cut[1].image_url.url, /^data:image\/png;base64,BwcH.*…\[cut [\d,]+ characters]$/)
  t.end()
})

t.test('a long text does not crowd out the members after it', t => {
  const messages = [
    { role: 'user', content: 'x'.repeat(50_000) },
    { role: 'user', content: 'and then?' }
  ]
  const cut = read(messages, 10_000)
  t.match(cut[0].content, /^x{600,}…\[cut/)
  t.equal(cut[1].content, 'and then?')
  t.end()
})

t.test('redaction receives each member, and exposes nothing when it fails', t => {
  const redact = (name: string, value: unknown) => (name === 'password' ? '***' : name === 'gone' ? undefined : value)
  const written = writeValue('input', { password: 'p', gone: 1, list: [{ password: 'q' }] }, { bytes: 1000, redact })
  t.equal(written?.text, '{"password":"***","list":[{"password":"***"}]}')
  const fails = () => {
    throw new Error('secret')
  }
  t.equal(writeValue('input', { a: 'secret' }, { bytes: 1000, redact: fails })?.text, '"[redact threw]"')
  t.end()
})

/** Returns a redact function that hides strings, and records its calls. */
function hiding() {
  const calls: [string, unknown][] = []
  const redact = (name: string, value: unknown) => {
    calls.push([name, value])
    return typeof value === 'string' && value.includes('SECRET') ? '***' : value
  }
  return { calls, redact }
}

t.test('redaction is called as in Python: with each member, and with each item by its index', t => {
  const table = JSON.parse(readFileSync('test/fixtures/client/redaction.json', 'utf8'))
  t.ok(table.length > 0)
  for (const { value, calls: expected, recorded } of table) {
    const { calls, redact } = hiding()
    t.same(JSON.parse(writeValue('input', value, { bytes: 10_000, redact })!.text), recorded)
    // The table lists values. The names of members are passed with the name "".
    t.same(
      calls.filter(([name]) => name !== ''),
      expected
    )
  }
  t.end()
})

t.test('redaction receives the text that represents an object', t => {
  const { redact } = hiding()
  const said = { toJSON: () => ({ in: ['SECRET'] }) }
  const objects = [new URL('https://x.example/?SECRET'), said, new String('SECRET'), /SECRET/, new Set(['SECRET'])]
  const more = [new Map([['k', 'SECRET']]), new Map([[1, 'SECRET']]), new Error('SECRET')]
  for (const value of [...objects, ...more]) {
    t.notMatch(writeValue('input', [value], { bytes: 10_000, redact })!.text, 'SECRET')
  }
  t.end()
})

t.test('web objects are recorded without their headers and content', t => {
  const form = new FormData()
  form.append('city', 'Graz')
  form.append('tag', 'a')
  form.append('tag', 'b')
  form.append('file', new File(['12345'], 'notes.txt'))
  const url = 'https://x.example/'
  const value = {
    form,
    blob: new Blob(['123']),
    query: new URLSearchParams({ q: 'x y' }),
    request: new Request(url, { method: 'POST', headers: { authorization: 'SECRET' }, body: 'SECRET' }),
    response: new Response('SECRET', { status: 404 }),
    headers: new Headers({ authorization: 'SECRET' })
  }
  t.same(JSON.parse(writeValue('input', value, { bytes: 10_000 })!.text), {
    form: { city: 'Graz', tag: ['a', 'b'], file: '[File of 5 bytes]' },
    blob: '[Blob of 3 bytes]',
    query: { q: 'x y' },
    request: { method: 'POST', url },
    response: { status: 404, url: '' },
    headers: '[Headers]'
  })
  const { redact } = hiding()
  const secret = new FormData()
  secret.append('token', 'SECRET')
  t.notMatch(writeValue('input', secret, { bytes: 10_000, redact })!.text, 'SECRET')
  t.notMatch(writeValue('input', new URLSearchParams({ q: 'SECRET' }), { bytes: 10_000, redact })!.text, 'SECRET')
  t.end()
})
