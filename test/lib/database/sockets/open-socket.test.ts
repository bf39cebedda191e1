/**
 * Tests connections over TLS, to several hosts and over Unix sockets, for queries and for COPY. A server in front of
 * the real PostgreSQL handles TLS in its place. The keys next to the certificates (folder `tls`) protect only these
 * tests.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { type SocketTarget, transportOf } from '../../../../lib/database/connection.ts'
import { CopyConnection } from '../../../../lib/database/copy-connection.ts'
import { classifyFailure } from '../../../../lib/database/failure.ts'
import { Pool } from '../../../../lib/database/pool.ts'
import { ingestBody, span, traceId } from '../../../fixtures/bodies/bodies.ts'
import { startTestCluster } from '../../../fixtures/database/cluster.ts'
import { databaseAt, readTestServer, testDatabase } from '../../../fixtures/database/database.ts'
import { bytes, testWritePath, writer } from '../../../fixtures/database/write-path.ts'

const database = await testDatabase(t)
const { user, password, socketDir, port: socketPort, database: name } = readTarget()

function readTarget(): SocketTarget {
  const { target } = database
  if (typeof target === 'string') throw new Error('these tests need the PostgreSQL that the run of the tests starts')
  return target
}

const certificate = (file: string) =>
  fileURLToPath(new URL(`../../../../../test/lib/database/sockets/tls/${file}`, import.meta.url))
const CA = certificate('ca.pem')
const LOCAL_CA = certificate('local-ca.pem')

interface Front {
  readonly port: number
  /** For each connection, the server name that the client requested, or a note that the client did not use TLS. */
  readonly seen: string[]
  /** Closes every connection. */
  cut(): void
}

interface FrontOptions {
  /** Kind of connections to reject, as if pg_hba.conf had no entry for them. */
  readonly refuses?: 'plain' | 'TLS'
  /** Whether to ask clients for a certificate. */
  readonly asks?: boolean
  /** Whether to reset connections as soon as TLS is established. */
  readonly resets?: boolean
  /** A server other than the test server. */
  readonly target?: SocketTarget
}

/** Starts a server in front of PostgreSQL, with a certificate for this host, or without TLS. */
async function startFront(t: Test, host: string | undefined, options: FrontOptions = {}): Promise<Front> {
  const seen: string[] = []
  const sockets = new Set<Socket>()
  const folder = options.target?.socketDir ?? socketDir
  const serve = (client: Socket, way: FrontOptions['refuses']) => {
    if (options.refuses === way) {
      client.once('data', () => client.end(errorResponse('28000', `no pg_hba.conf entry, ${way}`))).resume()
      return
    }
    const server = connect(`${folder}/.s.PGSQL.${socketPort}`)
    for (const [one, other] of [
      [client, server],
      [server, client]
    ] as const) {
      one.on('error', () => {}).on('close', () => other.destroy())
      one.pipe(other)
    }
  }
  const secure = (socket: Socket) => {
    const [key, cert] = ['key', 'pem'].map(ending => readFileSync(certificate(`${host}.${ending}`)))
    const client = new TLSSocket(socket, {
      isServer: true,
      key,
      cert,
      ALPNProtocols: ['postgresql'],
      ...(options.asks && { requestCert: true, rejectUnauthorized: true, ca: readFileSync(LOCAL_CA) }),
      SNICallback: (name, done) => {
        seen.push(`for ${name}`)
        done(null)
      }
    })
    client.once('secure', () => {
      if (options.asks) {
        const { subject, issuer } = client.getPeerCertificate()
        seen.push(`from ${subject?.CN}`)
        if (issuer?.CN !== 'spoor tests, local') socket.destroy()
      }
      seen.push('TLS')
      if (options.resets) socket.resetAndDestroy()
    })
    if (!options.resets) serve(client, 'TLS')
  }
  const front = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('data', first => {
      socket.pause()
      if (first[0] === 22) {
        socket.unshift(first)
        secure(socket)
      } else if (first.readInt32BE(4) === 80877103) {
        socket.write(host === undefined ? 'N' : 'S')
        if (host === undefined) serve(socket, 'plain')
        else secure(socket)
      } else {
        socket.unshift(first)
        seen.push('plain')
        serve(socket, 'plain')
      }
    })
  })
  await new Promise<void>(resolve => front.listen(0, '127.0.0.1', resolve))
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  t.teardown(() => {
    front.close()
    cut()
  })
  return { port: (front.address() as AddressInfo).port, seen, cut }
}

/** Returns an error as PostgreSQL sends it, with severity, code and message. */
function errorResponse(code: string, message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`)
  const header = Buffer.from('E\0\0\0\0')
  header.writeUInt32BE(4 + fields.length, 1)
  return Buffer.concat([header, fields])
}

const urlOf = (hosts: string, query: string) => `postgres://${user}:${password}@${hosts}/${name}?${query}`
const file = (name: string) => encodeURIComponent(certificate(name))
const trusting = `sslrootcert=${encodeURIComponent(CA)}`
const trustingLocal = `sslrootcert=${encodeURIComponent(LOCAL_CA)}`

/** Connects to an address for a query and for a COPY, and checks that the results agree. */
async function reach(t: Test, url: string): Promise<string> {
  const there = databaseAt(url)
  const pool = new Pool(onClose => there.connect({ onClose }), { size: 1 })
  const asked = await pool
    .run(sql => sql`select 1 as one`)
    .then(
      () => 'answers',
      error => classifyFailure(error)
    )
  await pool.end()
  const copied = await CopyConnection.open(there.connect, {}).then(
    connection => {
      connection.close()
      return 'answers'
    },
    error => classifyFailure(error)
  )
  t.equal(copied, asked, 'a connection for COPY is opened like any other')
  return asked
}

t.test('sslmode has the same meaning as in libpq', async t => {
  const [localhost, elsewhere, none, address, name, tlsOnly, plainOnly] = [
    await startFront(t, 'localhost'),
    await startFront(t, 'elsewhere.example'),
    await startFront(t, undefined),
    await startFront(t, '127.0.0.1'),
    await startFront(t, 'bare-ip'),
    await startFront(t, 'localhost', { refuses: 'plain' }),
    await startFront(t, 'localhost', { refuses: 'TLS' })
  ]
  const secure = ['for localhost', 'TLS']
  const cases: [front: Front, host: string, query: string, outcome: string, seen?: string[]][] = [
    [localhost, 'localhost', 'sslmode=disable', 'answers', ['plain']],
    [localhost, 'localhost', '', 'answers', secure],
    [localhost, 'localhost', 'sslmode=prefer', 'answers', secure],
    [none, 'localhost', 'sslmode=prefer', 'answers'],
    [plainOnly, 'localhost', 'sslmode=prefer', 'answers', [...secure, 'plain']],
    [plainOnly, 'localhost', 'sslmode=require', 'refused', secure],
    [localhost, 'localhost', 'sslmode=allow', 'answers', ['plain']],
    [tlsOnly, 'localhost', 'sslmode=allow', 'answers', ['plain', ...secure]],
    [tlsOnly, 'localhost', 'sslmode=disable', 'refused', ['plain']],
    [localhost, 'localhost', 'sslmode=require', 'answers', secure],
    [elsewhere, 'localhost', 'sslmode=require', 'answers', secure],
    [localhost, '127.0.0.1', 'sslmode=require', 'answers', ['TLS']],
    [none, 'localhost', 'sslmode=require', 'refused'],
    // With root certificates, `require` verifies the certificate, but not its name.
    [elsewhere, 'localhost', `sslmode=require&${trusting}`, 'answers'],
    [localhost, 'localhost', `sslmode=require&sslrootcert=${file('other-ca.pem')}`, 'refused'],
    [localhost, 'localhost', `sslmode=verify-full&${trusting}`, 'answers', secure],
    [localhost, 'localhost', `${trusting}&sslmode=verify-ca`, 'answers', secure],
    [localhost, 'localhost', `sslmode=verify-full&${trusting}&sslnegotiation=direct`, 'answers', secure],
    [elsewhere, 'localhost', `sslmode=verify-full&${trusting}`, 'refused'],
    [elsewhere, 'localhost', `sslmode=verify-ca&${trusting}`, 'answers'],
    [localhost, 'localhost', `sslmode=verify-ca&sslrootcert=${file('other-ca.pem')}`, 'refused'],
    [localhost, 'localhost', 'sslmode=verify-full', 'refused'],
    [localhost, 'localhost', 'sslrootcert=system', 'refused'],
    [localhost, 'localhost', `sslmode=verify-full&sslrootcert=${file('other-ca.pem')}`, 'refused'],
    // An IP address must be in the certificate as an IP address.
    [localhost, '127.0.0.1', `sslmode=verify-full&${trusting}`, 'refused'],
    [localhost, '127.0.0.1', `sslmode=verify-ca&${trusting}`, 'answers'],
    [address, '127.0.0.1', `sslmode=verify-full&${trustingLocal}`, 'answers', ['TLS']],
    [address, 'localhost', `sslmode=verify-full&${trustingLocal}`, 'refused'],
    [name, '127.0.0.1', `sslmode=verify-full&${trustingLocal}`, 'refused']
  ]
  for (const [front, host, query, outcome, seen] of cases) {
    front.seen.length = 0
    t.equal(await reach(t, urlOf(`${host}:${front.port}`, query)), outcome, `${host}, ${query}`)
    if (seen !== undefined) t.same(front.seen.slice(0, seen.length), seen, `${host}, ${query}`)
  }
})

t.test('a client presents the certificate from sslcert, with the key from sslkey', async t => {
  const front = await startFront(t, 'localhost', { asks: true })
  const hosts = `localhost:${front.port}`
  const identity = `sslcert=${file('client.pem')}&sslkey=${file('client.key')}`
  t.equal(await reach(t, urlOf(hosts, `sslmode=verify-full&${trusting}&${identity}`)), 'answers')
  t.ok(front.seen.includes('from somebody'))
  front.seen.length = 0
  t.equal(await reach(t, urlOf(hosts, 'sslmode=require')), 'refused')
  const strange = `sslcert=${file('localhost.pem')}&sslkey=${file('localhost.key')}`
  t.not(
    await reach(t, urlOf(hosts, `sslmode=require&${strange}`)),
    'answers',
    'a certificate that the server does not trust'
  )
  const wrong: [query: string, message: RegExp][] = [
    [`sslcert=${file('client.pem')}`, /^sslcert in DATABASE_URL needs sslkey/],
    [
      `sslcert=${file('client.pem')}&sslkey=${file('localhost.key')}`,
      /^sslcert in DATABASE_URL does not match the key in sslkey/
    ],
    [`sslcert=/nowhere.pem&sslkey=${file('client.key')}`, /^sslcert in DATABASE_URL cannot be read: ENOENT/],
    ['sslmode=strict', /^sslmode in DATABASE_URL must be one of disable, allow/],
    ['sslmode=require&sslrootcert=system', /^sslrootcert=system .* sslmode=verify-full/],
    ['sslnegotiation=direct', /^sslnegotiation=direct .* sslmode=require/],
    ['target_session_attrs=best', /^target_session_attrs in DATABASE_URL must be one of any/]
  ]
  for (const [query, message] of wrong) {
    t.throws(() => databaseAt(urlOf(hosts, query)).connect(), { name: 'ConfigError', message }, query)
  }
})

t.test('a connection that is reset right after the TLS handshake is rejected, and nothing else ends', async t => {
  const front = await startFront(t, 'localhost', { resets: true })
  const url = urlOf(`localhost:${front.port}`, 'sslmode=require')
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => reach(t, url)))
  t.notOk(outcomes.includes('answers'))
})

t.test('reports what is wrong with sslrootcert, and why the connection failed', async t => {
  const front = await startFront(t, undefined)
  const missing = urlOf(`localhost:${front.port}`, 'sslmode=verify-full&sslrootcert=/nowhere.pem')
  t.throws(() => databaseAt(missing).connect(), /^sslrootcert in DATABASE_URL cannot be read: ENOENT/)
  const sql = databaseAt(urlOf(`localhost:${front.port}`, 'sslmode=require')).connect()
  await t.rejects(sql`select 1`, { message: 'the server does not offer TLS, which sslmode=require requires' })
  sql.end({ timeout: 0 }).catch(() => {})
})

/** Returns a port on which nothing listens. */
async function closedPort(): Promise<number> {
  const closed = createServer()
  await new Promise<void>(resolve => closed.listen(0, '127.0.0.1', resolve))
  const { port } = closed.address() as AddressInfo
  await new Promise(resolve => closed.close(resolve))
  return port
}

t.test('of several hosts, the first that responds is used', async t => {
  const front = await startFront(t, 'localhost')
  const nobody = await closedPort()
  const ways = [
    `localhost:${nobody},localhost:${front.port}`,
    // Addresses needed this encoding in versions that parsed them with JavaScript's URL.
    `localhost%3A${nobody},localhost%3A${front.port}`
  ]
  for (const hosts of ways) {
    for (const query of ['', 'sslmode=disable', 'sslmode=require', 'target_session_attrs=read-write']) {
      t.equal(await reach(t, urlOf(hosts, query)), 'answers', `${hosts} ${query}`)
    }
  }
  const closing = createServer(socket => socket.resume().end()).listen(0, '127.0.0.1')
  const resetting = createServer(socket => socket.resetAndDestroy()).listen(0, '127.0.0.1')
  await Promise.all([closing, resetting].map(server => once(server, 'listening')))
  for (const server of [closing, resetting]) {
    t.teardown(() => server.close())
    const { port } = server.address() as AddressInfo
    for (const mode of ['disable', 'prefer', 'require']) {
      const hosts = `localhost:${port},localhost:${front.port}`
      t.equal(
        await reach(t, urlOf(hosts, `sslmode=${mode}`)),
        'answers',
        'a host that closes the connection is skipped'
      )
    }
  }
  t.equal(await reach(t, urlOf('', `host=localhost,127.0.0.1&port=${nobody},${front.port}`)), 'answers')
  t.equal(await reach(t, urlOf('', `host=${encodeURIComponent(socketDir)}&port=${socketPort}`)), 'answers')
  t.equal(await reach(t, urlOf(`localhost:${nobody},localhost:${nobody}`, '')), 'refused')
})

t.test('target_session_attrs selects one of several hosts; if none matches, the attempt ends', async t => {
  const standIn = await startTestCluster({ default_transaction_read_only: 'on' })
  t.teardown(() => standIn.stop())
  const readOnly = await startFront(t, undefined, { target: standIn.target })
  const readWrite = await startFront(t, undefined)
  const hosts = `localhost:${readOnly.port},localhost:${readWrite.port}`
  const urlTo = (session: string, hosts: string) =>
    `postgres://${user}:${password}@${hosts}/${standIn.target.database}?sslmode=disable&target_session_attrs=${session}`
  const cases: [session: string, isReadOnly: string][] = [
    ['any', 'on'],
    ['read-only', 'on'],
    ['read-write', 'off'],
    // Neither server is a standby.
    ['primary', 'on'],
    ['prefer-standby', 'on']
  ]
  for (const [session, isReadOnly] of cases) {
    const sql = databaseAt(urlTo(session, hosts)).connect()
    const [row] = await sql`select current_setting('default_transaction_read_only') as "isReadOnly"`
    t.equal(row?.isReadOnly, isReadOnly, session)
    await sql.end({ timeout: 1 })
  }
  t.equal(await reach(t, urlTo('standby', hosts)), 'refused')
  t.equal(await reach(t, urlTo('read-write', `localhost:${readOnly.port}`)), 'refused')
  const sql = databaseAt(urlTo('standby', hosts)).connect()
  await t.rejects(sql`select`, { message: 'no host in DATABASE_URL satisfies target_session_attrs=standby' })
  sql.end({ timeout: 0 }).catch(() => {})
})

t.test('PGTARGETSESSIONATTRS has the same effect if the address does not set it', async t => {
  const url = `postgres://${user}:${password}@localhost:${(await startFront(t, undefined)).port}/${name}?sslmode=disable`
  t.teardown(() => {
    delete process.env.PGTARGETSESSIONATTRS
  })
  for (const session of ['any', 'read-write', 'prefer-standby']) {
    process.env.PGTARGETSESSIONATTRS = session
    const sql = databaseAt(url).connect()
    t.same([...(await sql`select 1 as one`)], [{ one: 1 }], session)
    await sql.end({ timeout: 1 })
  }
  process.env.PGTARGETSESSIONATTRS = 'standby'
  const sql = databaseAt(url).connect()
  await t.rejects(sql`select`, { message: 'no host in DATABASE_URL satisfies target_session_attrs=standby' })
  sql.end({ timeout: 0 }).catch(() => {})
})

t.test('a query is cancelled on the host that runs it', async t => {
  const standIn = await startTestCluster({ default_transaction_read_only: 'on' })
  t.teardown(() => standIn.stop())
  const readOnly = await startFront(t, undefined, { target: standIn.target })
  const readWrite = await startFront(t, undefined)
  const hosts = `localhost:${readOnly.port},localhost:${readWrite.port}`
  const query = 'sslmode=disable&target_session_attrs=read-write'
  const sql = databaseAt(`postgres://${user}:${password}@${hosts}/${standIn.target.database}?${query}`).connect()
  await sql`select`
  const sleeping = sql`select pg_sleep(60)`
  const outcome = sleeping.then(
    () => 'done',
    error => error.code
  )
  setTimeout(() => sleeping.cancel(), 500)
  t.equal(await outcome, '57014')
  await sql.end({ timeout: 1 })
})

t.test('describes how connections are made', t => {
  const url = (query: string) => `postgres://me@localhost/db?${query}`
  t.equal(transportOf(readTestServer().target), 'a Unix socket')
  t.match(transportOf(url('')), /^TCP, with TLS where the server offers it/)
  t.match(transportOf(url('sslmode=allow')), /^TCP, with TLS where the server asks for it/)
  t.equal(transportOf(url('sslmode=disable')), 'TCP without TLS')
  t.equal(transportOf(url('sslmode=require')), 'TLS (sslmode=require)')
  t.end()
})

t.test('traces, even large ones, are copied over TLS, and a broken connection loses none', async t => {
  const front = await startFront(t, 'localhost')
  const there = databaseAt(urlOf(`localhost:${front.port}`, `sslmode=verify-full&${trusting}`))
  const path = testWritePath(t, there)
  const large = ingestBody({ spans: [1, 2, 3].map(() => span({ output: 'all work and no play '.repeat(30_000) })) })
  const bodies = [large, ...Array.from({ length: 40 }, () => ingestBody({ id: traceId(), spans: [span()] }))]
  for (const answer of await Promise.all(bodies.map(body => path.record(writer(), bytes(body))))) {
    t.equal(answer.duplicate, false)
  }
  const more = Array.from({ length: 30 }, () => ingestBody({ id: traceId() }))
  const sent = more.map(body => path.record(writer(), bytes(body)))
  setImmediate(front.cut)
  const answers = await Promise.allSettled(sent)
  const resent = await Promise.all(more.map(body => path.record(writer(), bytes(body))))
  for (const [i, { duplicate }] of resent.entries()) t.equal(duplicate, answers[i]?.status === 'fulfilled')
  t.same(await database.pool.run(sql => sql`select count(*)::int as traces from traces`), [
    { traces: bodies.length + more.length }
  ])
})
