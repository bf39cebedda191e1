import fc from 'fast-check'
import t from 'tap'
import { decodeCursor, encodeCursor } from '../../../../lib/store/lists/cursor.ts'
import { SCORE_ORDER, TRACE_ORDERS } from '../../../../lib/store/lists/order.ts'

const ID = '0123456789abcdef0123456789abcdef'
const EDGES = [
  { order: TRACE_ORDERS.newest, key: '2026-01-01T00:00:00.000001Z', tie: ID },
  { order: TRACE_ORDERS.newest, key: '0001-01-01T00:00:00.000Z', tie: '0'.repeat(32) },
  { order: TRACE_ORDERS.slowest, key: '0', tie: ID },
  { order: TRACE_ORDERS.slowest, key: String(Number.MAX_SAFE_INTEGER), tie: ID },
  { order: TRACE_ORDERS.costliest, key: '0.30000000000000004', tie: ID },
  { order: TRACE_ORDERS.costliest, key: '5e-324', tie: ID },
  { order: TRACE_ORDERS.costliest, key: '1.7976931348623157e+308', tie: ID },
  { order: SCORE_ORDER, key: '9999-12-31T23:59:59.999999Z', tie: '12' }
]

t.test('a cursor decodes to the position that it encodes, only under its own order', async t => {
  for (const { order, key, tie } of EDGES) {
    for (const inclusive of [true, false]) {
      const cursor = encodeCursor(order, { key, tie, inclusive })
      t.match(cursor, /^[\w-]+$/)
      t.strictSame(decodeCursor(order, cursor), { key, tie, inclusive }, `${order.name} ${key}`)
      for (const other of [...Object.values(TRACE_ORDERS), SCORE_ORDER]) {
        if (other !== order) t.equal(decodeCursor(other, cursor), undefined)
      }
    }
  }
})

const spell = (text: string) => Buffer.from(text).toString('base64url')

t.test('an invalid cursor is rejected', async t => {
  const { newest, slowest, costliest } = TRACE_ORDERS
  const good = encodeCursor(slowest, { key: '5', tie: ID, inclusive: false })
  t.ok(decodeCursor(slowest, good))
  const refused = [
    [slowest, ''],
    [slowest, 'x'],
    [slowest, `${good}=`],
    [slowest, `${good}!`],
    [slowest, `${good}A`],
    [slowest, good.slice(0, -1)],
    [slowest, spell(`2 traces:slowest past 5 ${ID}`)],
    [slowest, spell(`1 traces:slowest past 5 ${ID} `)],
    [slowest, spell(`1 traces:slowest past 5 ${ID} x`)],
    [slowest, spell(`1 traces:slowest beside 5 ${ID}`)],
    [slowest, spell(`1 traces:slowest past 05 ${ID}`)],
    [slowest, spell(`1 traces:slowest past -5 ${ID}`)],
    [slowest, spell(`1 traces:slowest past 9007199254740992 ${ID}`)],
    [slowest, spell(`1 traces:slowest past 5 ${ID.toUpperCase()}`)],
    [slowest, spell(`1 traces:slowest past 5 ${ID.slice(1)}`)],
    [newest, spell(`1 traces:newest past 2026-01-01T00:00:00Z ${ID}`)],
    [newest, spell(`1 traces:newest past 2026-02-30T00:00:00.000Z ${ID}`)],
    [newest, spell(`1 traces:newest past infinity ${ID}`)],
    [costliest, spell(`1 traces:costliest past 0.10 ${ID}`)],
    [costliest, spell(`1 traces:costliest past NaN ${ID}`)],
    [costliest, spell(`1 traces:costliest past Infinity ${ID}`)],
    [costliest, spell(`1 traces:costliest past -1 ${ID}`)],
    [SCORE_ORDER, spell('1 scores past 2026-01-01T00:00:00.000Z 99999999999999999999')]
  ] as const
  for (const [order, cursor] of refused) {
    t.equal(decodeCursor(order, cursor), undefined, Buffer.from(cursor, 'base64url').toString('latin1'))
  }
})

t.test('no text makes decoding throw an unexpected error', async () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), text => decodeCursor(SCORE_ORDER, text) === undefined))
})
