/** What no input may do: be answered 5xx, end the server, or hold it up so that nobody else is answered meanwhile. */
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { request } from 'undici'
import { testDatabase } from '../fixtures/database.ts'
import { HEAVY_TRACES, type Heavy, heavyRequests } from '../fixtures/heavy.ts'
import { configurationFor, serve } from '../fixtures/spoor.ts'
import { figure, isLong } from '../fixtures/torture.ts'

/** How long the event loop of the server may stand still. */
const MOST_STALL_MS = 100
/** The suite sends every so many of the requests. */
const SHORT_STEP = 10

t.test('no request holds the server up', async t => {
  const database = await testDatabase(t)
  const { address, key, serving } = await serve(t, configurationFor(database))
  const send = async ({ method, path, headers, body }: Omit<Heavy, 'name'>) => {
    const bytes = body?.() ?? null
    const answer = await request(address + path, {
      method: method ?? (bytes === null ? 'GET' : 'POST'),
      headers: { authorization: `Bearer ${key}`, ...headers },
      body: bytes,
      reset: true
    })
    return { status: answer.statusCode, text: await answer.body.text() }
  }
  /** The longest stall since this was asked last. */
  const stall = async () => {
    await delay(30)
    const { text } = await send({ path: '/metrics' })
    return Number(/^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(text)?.[1]) * 1000
  }
  for (const body of HEAVY_TRACES) await send({ path: '/api/v1/traces', body: () => JSON.stringify(body) })
  await stall()

  let longest = 0
  const all = heavyRequests(isLong ? 1 : 1 / 16)
  const chosen = isLong ? all : all.filter((_, i) => i % SHORT_STEP === 0)
  for (const [i, heavy] of chosen.entries()) {
    const { status, text } = await send(heavy)
    if (status >= 500) t.fail(`${heavy.name}: ${status} ${text.slice(0, 200)}`)
    figure('heavy requests', i + 1)
    if (!isLong) continue
    const held = await stall()
    if (held > MOST_STALL_MS) t.fail(`${heavy.name}: ${Math.round(held)} ms`)
    if (held <= longest) continue
    longest = held
    figure('longest stall, ms, and what made it', `${Math.round(held)}, ${heavy.name}`)
  }
  t.equal(serving.err, '', 'nothing to warn of in the log')
})
