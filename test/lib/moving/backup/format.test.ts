/** Tests the pages of a backup's lines. */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { decodePage, encodePage } from '../../../../lib/moving/backup/format.ts'

/** Bytes that become one piece of 65,536 characters (DECODED_TOGETHER). */
const PIECE = 49_152

t.test('a page of any length is decoded to the bytes that were encoded', t => {
  for (const length of [0, 1, 2, 3, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 2]) {
    const page = { traces: randomBytes(length), spans: randomBytes(length + 1), scores: Buffer.alloc(0) }
    const decoded = decodePage(encodePage(page, 1))
    for (const table of ['traces', 'spans', 'scores'] as const) {
      t.ok(decoded?.[table].equals(page[table]), `${table}, ${length} bytes`)
    }
  }
  t.end()
})

t.test('base64 with other characters is decoded to other bytes, without an error', t => {
  const page = { traces: randomBytes(2 * PIECE), spans: randomBytes(9), scores: Buffer.alloc(0) }
  const line = encodePage(page, 1)
  const from = line.indexOf('"traces":"') + '"traces":"'.length
  for (const character of ['=', '\n', '*', '\xff']) {
    for (const at of [0, 65_535, 65_536, 100_000]) {
      const damaged = Buffer.from(line)
      damaged.write(character, from + at, 'latin1')
      const decoded = decodePage(damaged)
      t.notOk(decoded?.traces.equals(page.traces), `${JSON.stringify(character)} at ${at}`)
      t.ok(decoded?.spans.equals(page.spans))
    }
  }
  t.equal(decodePage(Buffer.from('{"rows":{"count":1,"spans":""}}')), undefined)
  t.end()
})
