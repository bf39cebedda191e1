import t from 'tap'
import { atHost, describeAddress, readAddress } from '../../../../lib/database/sockets/address.ts'
import { withPath } from '../../../fixtures/database/target.ts'

t.test("reads an address's hosts as libpq does", t => {
  const host = (name: string, port = 5432) => ({ host: name, port })
  const cases: [rest: string, servers: object[], env?: NodeJS.ProcessEnv][] = [
    ['', [host('localhost')]],
    ['/db', [host('localhost')]],
    ['h1', [host('h1')]],
    ['me:p%40ss:word@h1:1/db', [host('h1', 1)]],
    ['h1:1,h2:2/db', [host('h1', 1), host('h2', 2)]],
    ['h1:1,h2/db', [host('h1', 1), host('h2')]],
    ['h1,h2/db?port=6000', [host('h1', 6000), host('h2', 6000)]],
    ['h1,h2/db?port=1,2', [host('h1', 1), host('h2', 2)]],
    ['[::1]:7,[fe80::1]/db', [host('::1', 7), host('fe80::1')]],
    ['%2Fvar%2Frun/db', [{ path: '/var/run/.s.PGSQL.5432' }]],
    ['/db?host=/var/run,h2&port=1,2', [{ path: '/var/run/.s.PGSQL.1' }, host('h2', 2)]],
    ['/db', [host('h1', 1), host('h2', 2)], { PGHOST: 'h1,h2', PGPORT: '1,2' }],
    ['h3/db', [host('h3', 9)], { PGHOST: 'h1,h2', PGPORT: '9' }],
    [':7/db', [host('localhost', 7)]]
  ]
  for (const [rest, servers, env = {}] of cases) t.same(readAddress(`postgres://${rest}`, env).servers, servers, rest)
  t.end()
})

t.test('reads user, password, database, and server options', t => {
  const address = readAddress(
    'postgresql://m%C3%BCller:p%40s:s+@h1:1,h2:2/d%2Fb?sslmode=require&search_path=a&options=-c%20a',
    {
      PGSSLMODE: 'disable',
      PGSSLCERT: '/c.pem'
    }
  )
  t.match(address, { user: 'müller', password: 'p@s:s+', database: 'd/b' })
  t.same(address.settings, { search_path: 'a', options: '-c a' })
  t.equal(address.parameter('sslmode'), 'require')
  t.equal(address.parameter('sslcert'), '/c.pem', 'the environment supplies what the address lacks')
  t.equal(describeAddress(address), 'h1:1,h2:2/d/b', 'reveals no password')
  t.end()
})

t.test('rejects invalid addresses, and repeats no part of them', t => {
  for (const rest of ['h:0/db', 'h:99999/db', 'h:x:1/db?port=a', 'me:hush@h%zz/db', 'h1,h2,h3/db?port=1,2']) {
    t.throws(
      () => readAddress(`postgres://${rest}`, {}),
      { name: 'ConfigError', message: /^DATABASE_URL (?!.*hush)/ },
      rest
    )
  }
  t.throws(() => readAddress('mysql://h/db', {}), { name: 'ConfigError' })
  t.end()
})

t.test('replaces the database in an address', t => {
  const cases = [
    ['postgres://h1:1,h2:2/a?x=/y', 'postgres://h1:1,h2:2/b?x=/y'],
    ['postgres://h', 'postgres://h/b'],
    ['postgres:///?host=/s', 'postgres:///b?host=/s']
  ] as const
  for (const [url, expected] of cases) t.equal(withPath(url, 'b'), expected)
  t.end()
})

t.test('replaces the server in an address', t => {
  const address = readAddress('postgres://me@h1,h2/db?hostaddr=10.0.0.1&sslmode=require')
  const there = atHost(address, { host: 'h3', port: 7 })
  t.match(there, { servers: [{ host: 'h3', port: 7 }], user: 'me', database: 'db' })
  t.equal(there.parameter('hostaddr'), undefined)
  t.equal(there.parameter('sslmode'), 'require')
  t.match(atHost(address, { host: '/run', port: 7 }), { servers: [{ path: '/run/.s.PGSQL.7' }] })
  t.end()
})
