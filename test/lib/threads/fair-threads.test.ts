import t from 'tap'
import { createLog } from '../../../lib/log.ts'
import { FairThreads } from '../../../lib/threads/fair-threads.ts'
import { ingestBody } from '../../fixtures/bodies/bodies.ts'

t.test("a project's burst waits behind itself, and other projects do not wait behind it", async t => {
  const threads = new FairThreads(1, createLog('silent'))
  t.teardown(() => threads.close())
  const done: string[] = []
  const make = async (name: string, projectId: number, length: number) => {
    const body = Buffer.from(JSON.stringify(ingestBody({ input: name.repeat(length) })))
    await threads.makeReady({ operation: 'record', body, environment: null, hurries: false }, projectId)
    done.push(name)
  }
  const heavy = Array.from({ length: 10 }, () => make('a', 1, 1_900_000))
  await Promise.all([...heavy, make('b', 2, 200_000), make('c', 3, 10)])
  t.equal(done.filter(name => name === 'a').length, 10)
  t.equal(done.indexOf('c'), 0, 'a small body needs no thread')
  t.ok(done.indexOf('b') <= 5, `behind as much as a thread holds at once: ${done.join('')}`)
})
