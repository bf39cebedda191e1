/** A serverless platform freezes a process while it sends. No trace is lost or duplicated. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { missing, startApplication } from '../../../fixtures/client/run.ts'
import { testFolder } from '../../../fixtures/folder.ts'
import { testService } from '../../../fixtures/service/service.ts'

const ROUNDS = 4
const FROZEN_MS = 1000

t.test('a process is frozen while it waits for a response', async t => {
  const { url, key } = await testService(t)
  const spool = await testFolder(t)
  const frozen: Promise<void>[] = []
  const tries = new Map<string, number>()
  // The gate passes each trace on, freezes the application, and loses the first response.
  const gate = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray())
    const headers = { authorization: String(request.headers.authorization), 'content-type': 'application/json' }
    const isWrite = request.method === 'POST'
    const answer = await fetch(url + request.url, { method: request.method!, headers, ...(isWrite && { body }) })
    const text = await answer.text()
    const trace = JSON.parse(body.toString() || '{}').trace?.id
    if (isWrite && trace !== undefined && !tries.has(trace)) {
      tries.set(trace, answer.status)
      application.kill('SIGSTOP')
      response.destroy()
      frozen.push(delay(FROZEN_MS).then(() => application.kill('SIGCONT')))
      return
    }
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text)
  }).listen(0, '127.0.0.1')
  t.teardown(() => void gate.close())
  await once(gate, 'listening')
  const address = `http://127.0.0.1:${(gate.address() as AddressInfo).port}`
  const options = { url: address, key, spool }
  const application = startApplication(t, { traces: ROUNDS, pauseMs: 300, end: 'flush', options })
  const { taken, flushed } = await application.ended
  await Promise.all(frozen)
  t.equal(frozen.length, ROUNDS, 'each trace was sent, and its response lost')
  t.match(flushed, { sent: ROUNDS, kept: 0, lostCount: 0 })
  t.same(await missing(url, key, taken), [])
})
