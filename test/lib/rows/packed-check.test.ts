import { randomBytes } from 'node:crypto'
import { brotliCompressSync, constants } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { areReadable } from '../../../lib/rows/packed-check.ts'
import { packTexts, sliceBlock, unpackTexts } from '../../../lib/rows/packed-texts.ts'
import { runs } from '../../torture/orders.ts'

const IDS = Array.from({ length: 4 }, (_, i) => `0${i}`.repeat(8))
const SPANS = IDS.map(id => ({
  id,
  input: JSON.stringify(`ä ${id} ${randomBytes(600).toString('hex')}`),
  output: null,
  attributes: '{"a":1}',
  events: null,
  callDetails: null
}))
const PACKED = packTexts(SPANS as never, false).flatMap(({ packed }) => packed ?? [])
const slices = (): Buffer[] => PACKED.map(packed => Buffer.from(packed))
const FAST = { params: { [constants.BROTLI_PARAM_QUALITY]: 0, [constants.BROTLI_PARAM_LGWIN]: 18 } }
/** Slices of a block with these bytes. */
const slicesOf = (block: Uint8Array): Buffer[] =>
  sliceBlock(SPANS, brotliCompressSync(block, FAST)).map(({ packed }) => Buffer.from(packed))

function readAll(all: readonly Buffer[]): number {
  let read = 0
  for (const { input, output, attributes, events } of unpackTexts(all).values()) {
    read += [input, output, attributes, events].join('').length
  }
  return read
}

t.test('texts that were packed are readable, in any order of their slices', async t => {
  const all = slices()
  t.equal(all.length, 4)
  t.equal(areReadable(all, new Set(IDS)), true)
  t.equal(areReadable([...all].reverse(), new Set(IDS)), true)
  t.equal(areReadable([], new Set(IDS)), true)
  t.equal(areReadable(all, new Set(IDS.slice(1))), false, 'a span without a row')
  for (const [i] of all.entries()) t.equal(areReadable(all.toSpliced(i, 1), new Set(IDS)), false, `without slice ${i}`)
  t.equal(areReadable([Buffer.alloc(1), ...all], new Set(IDS)), false, 'a slice without a number')
  t.equal(areReadable(slicesOf(Buffer.alloc(20_000_000)), new Set(IDS)), false, 'an endless block')
})

t.test('texts that are found readable can be read', async t => {
  const changed = fc.tuple(fc.nat(3), fc.nat(2000), fc.nat(255)).map(([slice, at, byte]) => {
    const all = slices()
    const own = all[slice]!
    own[at % own.length] = byte
    return all
  })
  const id = Buffer.concat([Buffer.from([0, 0, 0, 8]), Buffer.from(IDS[0]!, 'hex')])
  const length = fc.oneof(fc.integer({ min: -3, max: 40 }), fc.integer()).map(value => {
    const bytes = Buffer.alloc(4)
    bytes.writeInt32BE(value)
    return bytes
  })
  const part = fc.oneof(fc.constant(id), length, fc.uint8Array({ maxLength: 30 }))
  const made = fc.array(part, { maxLength: 30 }).map(parts => slicesOf(Buffer.concat([id, ...parts])))
  let readable = 0
  const property = fc.property(fc.oneof(changed, made), all => {
    if (!areReadable(all, new Set(IDS))) return
    readable++
    readAll(all)
  })
  fc.assert(property, { ...runs(300), examples: [[slices()]] })
  t.ok(readable > 0)
})
