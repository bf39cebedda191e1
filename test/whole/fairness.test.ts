/** One project's heavy bodies wait behind each other, and another project's write not behind all of them. */
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { ingestBody } from '../fixtures/bodies/bodies.ts'
import { testService } from '../fixtures/service/service.ts'

const HEAVY = 24

t.test('a project that sends much at once does not keep another one waiting for all of it', async t => {
  const { call, makeKey, makeProject, key } = await testService(t)
  await makeProject('other')
  const other = await makeKey({ project: 'other' })
  const done: string[] = []
  const record = async (name: string, key: string, length: number) => {
    const input = Array.from({ length }, () => ({ [name]: 1 }))
    // Compressed, a heavy body arrives at once.
    const body = gzipSync(JSON.stringify(ingestBody({ input })), { level: 1 })
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    const { status } = await call('POST', '/api/v1/traces', { key, body, headers })
    t.equal(status, 201, name)
    done.push(name)
  }
  const heavy = Array.from({ length: HEAVY }, () => record('a', key, 80_000))
  await Promise.all([...heavy, record('b', other.key, 10_000)])
  // Without turns it would be the last. How many are done before it has arrived depends on what else the machine does.
  t.ok(done.indexOf('b') < HEAVY - 4, `not behind all of them: ${done.join('')}`)
})
