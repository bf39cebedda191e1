/** Tests random histories in which several users share a limit on connections, while PostgreSQL's own limit changes. */
import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { ConnectionLimit, type Holder } from '../../../../lib/database/pooled/connection-limit.ts'

interface History {
  /** The process's own limit on connections. */
  readonly most: number
  /** PostgreSQL's successive limits on connections, each valid for `forMs`. The last limit equals `most`. */
  readonly allowed: readonly { readonly connections: number; readonly forMs: number }[]
  readonly uses: readonly {
    readonly user: number
    readonly atMs: number
    readonly forMs: number
    /** Whether the user can do without a connection. */
    readonly isOptional: boolean
  }[]
}

const USERS = 3

const histories = fc.record<History>({
  most: fc.integer({ min: 1, max: 5 }),
  allowed: fc.array(
    fc.record({ connections: fc.integer({ min: 1, max: 5 }), forMs: fc.integer({ min: 1, max: 200 }) }),
    { maxLength: 4 }
  ),
  uses: fc.array(
    fc.record({
      user: fc.nat(USERS - 1),
      atMs: fc.nat(300),
      forMs: fc.nat(40),
      isOptional: fc.boolean()
    }),
    { minLength: 1, maxLength: 40 }
  )
})

/** Simulates a PostgreSQL server whose backends take a moment to start and to end. */
class Server {
  allowed = Number.POSITIVE_INFINITY
  open = 0
  most = 0

  async connect(): Promise<void> {
    await delay(1)
    if (this.open >= this.allowed) {
      throw Object.assign(new Error('too many connections'), { name: 'PostgresError', code: '53300' })
    }
    this.open++
    this.most = Math.max(this.most, this.open)
  }

  async disconnect(): Promise<void> {
    await delay(2)
    this.open--
  }
}

/**
 * Keeps connections as a pool does: uses an idle connection if there is one, and keeps the connection afterwards unless
 * another user waits for one.
 */
class User implements Holder {
  readonly #limit: ConnectionLimit
  readonly #server: Server
  /** The times at which connections became idle, oldest first. */
  readonly #idle: number[] = []

  constructor(limit: ConnectionLimit, server: Server) {
    this.#limit = limit
    this.#server = server
    limit.join(this)
  }

  get idleSince(): number | undefined {
    return this.#idle[0]
  }

  closeIdle(): Promise<void> {
    this.#idle.shift()
    return this.#limit.leaveAfter(this.#server.disconnect())
  }

  async use(forMs: number, isOptional: boolean): Promise<void> {
    const connect = async () => {
      await this.#server.connect()
      return true
    }
    if (this.#idle.pop() === undefined) {
      const isOpen = await (isOptional ? this.#limit.openIfFree(connect) : this.#limit.open(connect))
      if (isOpen === undefined) return
    }
    await delay(forMs)
    this.#idle.push(performance.now())
    if (this.#limit.isWanted) await this.closeIdle()
  }

  async end(): Promise<void> {
    while (this.#idle.length > 0) await this.closeIdle()
    this.#limit.part(this)
  }
}

/**
 * Returns figures to check: the maximum number of simultaneous connections, and the number still open after all users
 * have ended.
 */
async function live({ most, allowed, uses }: History): Promise<{ readonly most: number; readonly left: number }> {
  const server = new Server()
  const limit = new ConnectionLimit(most)
  const users = Array.from({ length: USERS }, () => new User(limit, server))
  const changes = async () => {
    for (const { connections, forMs } of allowed) {
      server.allowed = connections
      await delay(forMs)
    }
    server.allowed = most
  }
  const use = async ({ user, atMs, forMs, isOptional }: History['uses'][number]) => {
    await delay(atMs)
    await users[user]?.use(forMs, isOptional)
  }
  await Promise.all([changes(), ...uses.map(use)])
  for (const user of users) await user.end()
  const left = server.open
  // No slot is lost: if PostgreSQL never rejected a connection, all slots are available at once.
  if (limit.shortage === undefined)
    await Promise.all(Array.from({ length: most }, () => limit.open(() => server.connect())))
  return { most: server.most, left }
}

t.test('every request for a connection is met, and the limit is never exceeded', async t => {
  // All histories run at once, because they mostly wait. A history that is stuck never ends; its seed reproduces it.
  const seed = Date.now()
  t.comment(`seed ${seed}`)
  const all = fc.sample(histories, { seed, numRuns: 300 })
  const outcomes = await Promise.all(all.map(live))
  for (const [i, { most, left }] of outcomes.entries()) {
    const history = all[i] as History
    if (most > history.most || left > 0) t.fail(`${most} connections, ${left} left over: ${JSON.stringify(history)}`)
  }
  t.ok(outcomes.some(({ most }) => most === 5))
})
