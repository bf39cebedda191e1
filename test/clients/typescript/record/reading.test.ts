/**
 * Tests, through the client's public functions, how results are recorded that arrive, or are read, after a call has
 * returned. A server that accepts everything receives the client's requests.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import t from 'tap'
import { Spoor } from '../../../../clients/typescript/index.ts'
import { recordInMemory } from '../../../../clients/typescript/testing.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary members of bodies.
const bodies: any[] = []
const server = createServer(async (request, response) => {
  bodies.push(JSON.parse(Buffer.concat(await request.toArray()).toString()))
  response.writeHead(201).end('{"ok":true}')
}).listen(0, '127.0.0.1')
await once(server, 'listening')
const spoor = new Spoor({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, key: 'k', spool: false })
t.teardown(async () => {
  await spoor.close()
  server.close()
  server.closeAllConnections()
})

/** Returns the only trace recorded since the last call. */
async function recorded() {
  t.match(await spoor.flush({ timeoutMs: 60_000 }), { kept: 0, lostCount: 0, problems: [] })
  t.equal(bodies.length, 1)
  return bodies.pop().trace
}

const numbers = async function* numbers(to: number) {
  for (let i = 1; i <= to; i++) {
    spoor.span(`step ${i}`, () => i)
    yield i
  }
  return 'end'
}

t.test('a generator ends its step when it is exhausted, and its calls are part of the step', async t => {
  const seen: number[] = []
  for await (const each of spoor.observe(numbers)(3)) seen.push(each)
  t.same(seen, [1, 2, 3])
  const trace = await recorded()
  t.match(trace, { name: 'numbers', status: 'ok', input: 3, output: [1, 2, 3] })
  t.same(
    trace.spans.map(({ name }: { name: string }) => name),
    ['step 1', 'step 2', 'step 3']
  )
})

t.test('a reader that stops, or an error, also ends the step', async t => {
  for await (const _ of spoor.observe(numbers)(3)) break
  t.match(await recorded(), { name: 'numbers', output: [1] })
  const failing = spoor.observe(async function* failing() {
    yield 'a'
    throw new Error('broken')
  })
  await t.rejects(collect(failing()), { message: 'broken' })
  t.match(await recorded(), { status: 'error', output: 'a', metadata: { error: { message: 'broken' } } })
})

t.test('synchronous generators, and promises of iterables', async t => {
  const plain = spoor.observe(function* plain() {
    yield 1
    yield 2
  })
  t.same([...plain()], [1, 2])
  t.match(await recorded(), { name: 'plain', output: [1, 2] })
  const later = spoor.observe(async function later() {
    return numbers(2)
  })
  t.same(await collect(await later()), [1, 2])
  t.match(await recorded(), { name: 'later', output: [1, 2] })
})

t.test('a web stream remains a stream, and yields the same values', async t => {
  const source = () =>
    new ReadableStream({
      start(controller) {
        for (const part of ['one ', 'two']) controller.enqueue(new TextEncoder().encode(part))
        controller.close()
      }
    })
  t.equal(await new Response(spoor.trace('streamed', source)).text(), 'one two')
  t.match(await recorded(), { name: 'streamed', status: 'ok', output: 'one two' })
  await spoor.trace('cancelled', source).cancel()
  t.match(await recorded(), { name: 'cancelled', status: 'unset' })
})

t.test('an observed function keeps its this, name, result and errors', async t => {
  class Shop {
    rate = 2
    price = spoor.observe(function price(this: Shop, amount: number) {
      return amount * this.rate
    })
  }
  const shop = new Shop()
  t.equal(shop.price(4), 8)
  t.equal(shop.price.name, 'price')
  t.match(await recorded(), { name: 'price', input: 4, output: 8 })
  const error = new RangeError('no')
  const fails = spoor.observe(
    () => {
      throw error
    },
    { name: 'fails' }
  )
  t.throws(fails, error)
  t.match(await recorded(), { name: 'fails', status: 'error' })
})

t.test('concurrent work stays in its own trace and creates no empty traces', async t => {
  const names = ['one', 'two', 'three']
  const later = promisify((value: string, done: (error: null, value: string) => void) => {
    setTimeout(() => spoor.span(`callback ${value}`, () => setImmediate(done, null, value)), 1)
  })
  const run = async (name: string) => {
    await Promise.all([later(name), spoor.span(`promise ${name}`, () => nextTurn())])
    return spoor.current()?.name
  }
  t.same(await Promise.all(names.map(name => spoor.trace(name, () => run(name)))), names)
  await spoor.flush({ timeoutMs: 60_000 })
  const seen = bodies.splice(0).map(({ trace }) => trace.spans.map(({ name }: { name: string }) => name).sort())
  t.same(seen.sort(), names.map(name => [`callback ${name}`, `promise ${name}`]).sort())
})

t.test('steps of two clients do not mix, whichever calls the other', async t => {
  const [a, b] = [recordInMemory(), recordInMemory()]
  const inner = a.spoor.observe(
    async () => {
      await nextTurn()
      b.spoor.span('step of b', () => a.spoor.span('step of a', () => undefined))
    },
    { name: 'inner' }
  )
  await b.spoor.trace('outer', () => inner())
  t.same(
    [a, b].map(({ traces }) => traces.map(({ name, spans }) => [name, ...spans.map(span => span.name)])),
    [[['inner', 'step of a']], [['outer', 'step of b']]]
  )
})

t.test('a step that starts after its trace has ended is a separate trace', async t => {
  let late: Promise<number> | undefined
  let goOn = () => {}
  const isTime = new Promise<void>(resolve => {
    goOn = resolve
  })
  await spoor.trace('early', async () => {
    late = isTime.then(() => spoor.span('late', () => 1))
  })
  t.match(await recorded(), { name: 'early' })
  goOn()
  await late
  t.match(await recorded(), { name: 'late', output: 1 })
})

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}
