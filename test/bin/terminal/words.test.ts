import t from 'tap'
import { nearest } from '../../../bin/command-line.ts'
import { alignColumns, table } from '../../../bin/terminal/table.ts'
import { relativeTime, size } from '../../../bin/terminal/words.ts'
import { listenAddress } from '../../../lib/health/running-server.ts'

t.test('times are formatted in a suitable unit', async t => {
  const now = Date.parse('2026-01-31T12:00:00Z')
  const said: [string | null, string][] = [
    [null, '-'],
    ['2026-01-31T12:00:59.999Z', 'now'],
    ['2026-01-31T11:59:00.000Z', '1 minute ago'],
    ['2026-01-31T15:10:00.000Z', 'in 3 hours'],
    ['2026-01-29T12:00:00.123456Z', '2 days ago'],
    ['2026-03-31T12:00:00.000Z', 'in 2 months'],
    ['2024-01-31T12:00:00.000Z', '2 years ago']
  ]
  for (const [iso, words] of said) t.equal(relativeTime(iso, now), words)
})

t.test('sizes are formatted in a suitable unit, with exact powers of 1024 as such', async t => {
  const said = { 0: '0 B', 999: '999 B', 1500: '1.5 kB', 1234567: '1.23 MB', 1048576: '1 MiB', 10737418240: '10 GiB' }
  for (const [bytes, words] of Object.entries(said)) t.equal(size(Number(bytes)), words)
})

t.test('columns are as wide as their widest cell, and numbers are right-aligned', async t => {
  t.same(
    alignColumns([
      ['A', 'COUNT', 'C'],
      ['long', 7, 'x'],
      ['b', 12, '']
    ]),
    ['A     COUNT  C', 'long      7  x', 'b        12']
  )
  t.equal(table(['A'], [], 'nothing here'), 'nothing here')
})

t.test('the nearest name is one that a typing error could produce', async t => {
  const names = ['serve', 'status', 'key list', 'key create']
  const typed = {
    sreve: 'serve',
    statsu: 'status',
    'key lst': 'key list',
    sverve: 'serve',
    kangaroo: undefined,
    '': undefined
  }
  for (const [text, name] of Object.entries(typed)) t.equal(nearest(text, names), name, text)
})

t.test('an address names a host that a client can reach', async t => {
  const addresses: [string, string][] = [
    ['127.0.0.1', 'http://127.0.0.1:8787'],
    ['0.0.0.0', 'http://localhost:8787'],
    ['::', 'http://localhost:8787'],
    ['::1', 'http://[::1]:8787'],
    ['spoor.example', 'http://spoor.example:8787']
  ]
  for (const [host, address] of addresses) t.equal(listenAddress(host, 8787), address)
})
