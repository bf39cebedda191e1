import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { testDatabase } from '../../fixtures/database/database.ts'
import { configurationFor, serve } from '../../fixtures/service/spoor.ts'
import { until } from '../../fixtures/until.ts'

t.test('a second Ctrl-C that npm forwards does not cut the shutdown short', async t => {
  const { serving } = await serve(t, configurationFor(await testDatabase(t)))
  serving.kill('SIGINT')
  serving.kill('SIGINT')
  t.match(await serving.finished, { code: 0 })
})

t.test('a later second signal does not wait for requests in flight', async t => {
  const { serving, address, key } = await serve(t, configurationFor(await testDatabase(t)))
  const client = connect(Number(new URL(address).port), '127.0.0.1')
  t.teardown(() => client.destroy())
  await once(client, 'connect')
  // The body never arrives, so the request stays in flight.
  const head = `POST /api/v1/traces HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Length: 9\r\n`
  client.write(`${head}Expect: 100-continue\r\n\r\n`)
  t.match(String(await once(client, 'data')), /^HTTP\/1\.1 100 /)
  serving.kill('SIGTERM')
  // The time between the signals counts from the moment when the server handles the first.
  await until(() =>
    fetch(address).then(
      () => false,
      () => true
    )
  )
  await delay(1100)
  serving.kill('SIGTERM')
  t.match(await serving.finished, { code: 1, err: /stopping without waiting/ })
})
