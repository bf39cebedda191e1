/**
 * Connections over TLS, to several hosts and over Unix sockets, for queries and for COPY. PostgreSQL's side of TLS is played
 * by a server in front of the real one. The keys beside the certificates (test/lib/database/tls) secure nothing but these
 * tests.
 */
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { type SocketTarget, transportOf } from '../../../lib/database/connection.ts'
import { CopyConnection } from '../../../lib/database/copy-connection.ts'
import { classifyFailure } from '../../../lib/database/failure.ts'
import { ingestBody, span, traceId } from '../../fixtures/bodies/bodies.ts'
import { databaseAt, readTestServer, testDatabase } from '../../fixtures/database/database.ts'
import { bytes, testWritePath, writer } from '../../fixtures/database/write-path.ts'

const database = await testDatabase(t)
const { user, password, socketDir, port: socketPort, database: name } = readTarget()

function readTarget(): SocketTarget {
  const { target } = database
  if (typeof target === 'string') throw new Error('these tests need the PostgreSQL that the run of the tests starts')
  return target
}

const certificate = (file: string) =>
  fileURLToPath(new URL(`../../../../test/lib/database/tls/${file}`, import.meta.url))
const CA = certificate('ca.pem')

interface Front {
  readonly port: number
  /** What the clients said of each connection: the name of the server that they look for, or that they go without TLS. */
  readonly seen: string[]
  /** Closes every connection. */
  cut(): void
}

/** A PostgreSQL with this certificate, or without TLS. */
async function startFront(t: Test, host: string | undefined): Promise<Front> {
  const seen: string[] = []
  const sockets = new Set<Socket>()
  const serve = (client: Socket) => {
    const server = connect(`${socketDir}/.s.PGSQL.${socketPort}`)
    client.on('error', () => server.destroy()).pipe(server)
    server.on('error', () => client.destroy()).pipe(client)
  }
  const secure = (socket: Socket) => {
    const [key, cert] = ['key', 'pem'].map(ending => readFileSync(certificate(`${host}.${ending}`)))
    const client = new TLSSocket(socket, {
      isServer: true,
      key,
      cert,
      ALPNProtocols: ['postgresql'],
      SNICallback: (name, done) => {
        seen.push(`for ${name}`)
        done(null)
      }
    })
    client.once('secure', () => seen.push('TLS'))
    serve(client)
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
        if (host === undefined) serve(socket)
        else secure(socket)
      } else {
        socket.unshift(first)
        seen.push('plain')
        serve(socket)
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

const urlOf = (hosts: string, query: string) => `postgres://${user}:${password}@${hosts}/${name}?${query}`
const trusting = `sslrootcert=${encodeURIComponent(CA)}`

/** What a query and a COPY say to this address: the two of them must agree. */
async function reach(t: Test, url: string): Promise<string> {
  const there = databaseAt(url)
  const sql = there.connect()
  const asked = await sql`select 1 as one`.then(
    () => 'answers',
    error => classifyFailure(error)
  )
  sql.end({ timeout: 0 }).catch(() => {})
  const copied = await CopyConnection.open(there.connect, {}).then(
    connection => {
      connection.close()
      return 'answers'
    },
    error => classifyFailure(error)
  )
  t.equal(copied, asked, 'a connection for COPY is had like any other')
  return asked
}

t.test('sslmode means what it means to the driver', async t => {
  const [localhost, elsewhere, none] = [
    await startFront(t, 'localhost'),
    await startFront(t, 'elsewhere.example'),
    await startFront(t, undefined)
  ]
  const cases: [front: Front, host: string, query: string, outcome: string, seen?: string[]][] = [
    [localhost, 'localhost', 'sslmode=disable', 'answers', ['plain']],
    [localhost, 'localhost', '', 'answers', ['plain']],
    [localhost, 'localhost', 'sslmode=prefer', 'answers', ['for localhost', 'TLS']],
    [none, 'localhost', 'sslmode=prefer', 'answers'],
    [localhost, 'localhost', 'sslmode=allow', 'answers', ['for localhost', 'TLS']],
    [localhost, 'localhost', 'sslmode=require', 'answers', ['for localhost', 'TLS']],
    [elsewhere, 'localhost', 'sslmode=require', 'answers', ['for localhost', 'TLS']],
    [localhost, '127.0.0.1', 'sslmode=require', 'answers', ['TLS']],
    [none, 'localhost', 'sslmode=require', 'refused'],
    [localhost, 'localhost', `sslmode=verify-full&${trusting}`, 'answers', ['for localhost', 'TLS']],
    [localhost, 'localhost', `${trusting}&sslmode=verify-ca`, 'answers', ['for localhost', 'TLS']],
    [
      localhost,
      'localhost',
      `sslmode=verify-full&${trusting}&sslnegotiation=direct`,
      'answers',
      ['for localhost', 'TLS']
    ],
    [elsewhere, 'localhost', `sslmode=verify-full&${trusting}`, 'refused'],
    [elsewhere, 'localhost', `sslmode=verify-ca&${trusting}`, 'refused'],
    [localhost, 'localhost', 'sslmode=verify-full', 'refused'],
    [
      localhost,
      'localhost',
      `sslmode=verify-full&sslrootcert=${encodeURIComponent(certificate('other-ca.pem'))}`,
      'refused'
    ]
  ]
  for (const [front, host, query, outcome, seen] of cases) {
    front.seen.length = 0
    t.equal(await reach(t, urlOf(`${host}:${front.port}`, query)), outcome, `${host}, ${query}`)
    if (seen !== undefined) t.same(front.seen.slice(0, seen.length), seen, `${host}, ${query}`)
  }
})

t.test('says what is wrong with sslrootcert, and why no connection was had', async t => {
  const front = await startFront(t, undefined)
  const missing = urlOf(`localhost:${front.port}`, 'sslmode=verify-full&sslrootcert=/nowhere.pem')
  t.throws(() => databaseAt(missing).connect(), /^sslrootcert of DATABASE_URL cannot be read: ENOENT/)
  const sql = databaseAt(urlOf(`localhost:${front.port}`, 'sslmode=require')).connect()
  await t.rejects(sql`select 1`, { message: 'the server does not offer TLS, which sslmode=require asks for' })
  sql.end({ timeout: 0 }).catch(() => {})
})

t.test('of several hosts the first that answers is used', async t => {
  const front = await startFront(t, 'localhost')
  const closed = createServer()
  await new Promise<void>(resolve => closed.listen(0, '127.0.0.1', resolve))
  const { port: nobody } = closed.address() as AddressInfo
  await new Promise(resolve => closed.close(resolve))
  // The way in which an address holds several hosts with ports.
  const hosts = `localhost%3A${nobody},localhost%3A${front.port}`
  for (const query of ['', 'sslmode=require']) t.equal(await reach(t, urlOf(hosts, query)), 'answers', query)
  t.equal(await reach(t, urlOf(`localhost%3A${nobody},localhost%3A${nobody}`, '')), 'refused')
  for (const [session, outcome] of [
    ['read-write', 'answers'],
    ['primary', 'answers']
  ] as const) {
    t.equal(await reach(t, urlOf(hosts, `target_session_attrs=${session}`)), outcome, session)
  }
})

t.test('says how connections are made', t => {
  const url = (query: string) => `postgres://me@localhost/db?${query}`
  t.equal(transportOf(readTestServer().target), 'a Unix socket')
  t.equal(transportOf(url('')), 'TCP without TLS')
  t.equal(transportOf(url('sslmode=disable')), 'TCP without TLS')
  t.equal(transportOf(url('sslmode=require')), 'TLS (sslmode=require)')
  t.end()
})

t.test('traces are copied over TLS, large ones too, and a connection that is cut loses none', async t => {
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
