import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { wellFormed, wellFormedBytes } from '../../../lib/mcp/well-formed.ts'
import { runs } from '../../torture/orders.ts'

const HALF = fc.constantFrom('\\ud800', '\\uDBFF', '\\udc00', '\\udfff')
const part = fc.oneof(
  HALF,
  fc.constantFrom('\\\\', '\\"', '\\u0000', '\\u00e9', 'ud800', '\\\\ud800'),
  fc.string({ unit: 'grapheme' }).map(text => JSON.stringify(text).slice(1, -1))
)
const json = fc.array(part).map(parts => `"${parts.join('')}"`)

t.test('unpaired surrogates are removed, and everything else is preserved', async t => {
  fc.assert(
    fc.property(json, json => {
      const formed = JSON.parse(wellFormed(json)) as string
      assert.equal(formed, (JSON.parse(json) as string).toWellFormed())
    }),
    runs(300)
  )
  t.pass('holds')
})

t.test('bytes are converted like the text', async t => {
  fc.assert(
    fc.property(json, json => {
      assert.equal(Buffer.from(wellFormedBytes(Buffer.from(json))).toString(), wellFormed(json))
    }),
    runs(300)
  )
  t.pass('holds')
})
