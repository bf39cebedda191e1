/** The end of a process and of a client take a limited time, whatever the server does. */
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { Spoor } from '../../../../clients/typescript/index.ts'
import { startApplication } from '../../../fixtures/client/run.ts'
import { testFolder } from '../../../fixtures/folder.ts'
import { until } from '../../../fixtures/until.ts'

/** The client's limit at the end of a process. A flush that ignored its timeout would take 30 s. */
const LIMIT_MS = 5000
/** On a busy machine, a process may end seconds after its last timer. */
const LATE_MS = 10_000

/** Ways in which a server keeps its clients waiting. */
const SERVERS: Readonly<Record<string, (response: ServerResponse) => void>> = {
  'never answers': () => {},
  'sends a byte a second': response => {
    response.writeHead(201, { 'content-type': 'application/json', 'content-length': 1000 })
    const timer = setInterval(() => response.write(' '), 1000)
    response.on('close', () => clearInterval(timer))
  }
}

async function serverThat(t: Test, answer: (response: ServerResponse) => void) {
  const server = createServer((_, response) => answer(response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

for (const [name, answer] of Object.entries(SERVERS)) {
  t.test(`a server that ${name}`, async t => {
    const url = await serverThat(t, answer)

    t.test('a process exits by itself after 5 s, and its traces are in the spool', async t => {
      const spool = await testFolder(t)
      const options = { url, key: 'k', spool }
      const application = startApplication(t, { traces: 2, end: 'return', options })
      await until(() => application.taken.length === 2)
      const begun = performance.now()
      const { code, err } = await application.ended
      t.equal(code, 0, err)
      t.ok(performance.now() - begun < LIMIT_MS + LATE_MS, `${performance.now() - begun} ms`)
      t.equal(readdirSync(spool).filter(file => file.endsWith('.spoor')).length, 2)
    })

    t.test('close and flush return at their timeout', async t => {
      const spool = await testFolder(t)
      const spoor = new Spoor({ url, key: 'k', spool, onProblem: () => {} })
      spoor.trace('kept', () => 1)
      const begun = performance.now()
      t.match(await spoor.flush({ timeoutMs: 300 }), { sent: 0, kept: 1 })
      t.match(await spoor.close({ timeoutMs: 300 }), { sent: 0, kept: 1, lostCount: 0 })
      t.ok(performance.now() - begun < LIMIT_MS, `${performance.now() - begun} ms`)
      t.equal(readdirSync(spool).length, 1)
    })

    t.test('a read keeps the process alive, and fails when the client is closed', async t => {
      const spoor = new Spoor({ url, key: 'k', spool: false, onProblem: () => {} })
      const read = spoor.project().catch(error => error)
      setTimeout(() => void spoor.close({ timeoutMs: 100 }), 200)
      t.match(await read, { name: 'SpoorError', status: 0, message: 'no response in time' })
    })
  })
}
