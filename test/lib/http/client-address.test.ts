import fc from 'fast-check'
import t from 'tap'
import { clientAddress } from '../../../lib/http/exchange.ts'
import { readNetworks } from '../../../lib/network-list.ts'

const PROXIES = readNetworks(['10.0.0.0/8', '::1'])

t.test("the client is the last address that is not a trusted proxy's", t => {
  const cases: [peer: string, forwarded: string | undefined, client: string][] = [
    ['192.0.2.7', undefined, '192.0.2.7'],
    ['::ffff:192.0.2.7', undefined, '192.0.2.7'],
    ['192.0.2.7', '198.51.100.1', '192.0.2.7'],
    ['10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['10.0.0.1', '203.0.113.9, 198.51.100.1, 10.2.3.4', '198.51.100.1'],
    ['10.0.0.1', '198.51.100.1:4711', '198.51.100.1'],
    ['::1', '[2001:db8::1]:4711', '2001:db8::1'],
    ['::1', '2001:db8::1', '2001:db8::1'],
    ['10.0.0.1', 'unknown', '10.0.0.1'],
    ['10.0.0.1', '198.51.100.1, "><script>', '10.0.0.1'],
    ['10.0.0.1', '', '10.0.0.1']
  ]
  for (const [peer, forwarded, client] of cases) {
    t.equal(clientAddress(peer, forwarded, PROXIES), client, `${peer} ${forwarded}`)
  }
  t.equal(clientAddress('10.0.0.1', '198.51.100.1', undefined), '10.0.0.1', 'no proxy is trusted')
  t.end()
})

t.test('a forged header changes nothing, and only addresses are returned', t => {
  fc.assert(
    fc.property(fc.string(), fc.ipV4(), (own, client) => {
      fc.pre(!client.startsWith('10.'))
      t.equal(clientAddress('10.0.0.1', `${own}, ${client}`, PROXIES), client)
      t.match(clientAddress('10.0.0.1', own, PROXIES), /^[\da-f:.]+$/i)
    }),
    { numRuns: 200 }
  )
  t.end()
})
