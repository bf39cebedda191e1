import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { Preparation } from '../../../lib/ingest/preparation.ts'
import { createLog } from '../../../lib/log.ts'
import { ingestBody } from '../../fixtures/bodies.ts'

const log = createLog('silent')
const bodyOf = (length: number) => Buffer.from(JSON.stringify(ingestBody({ input: 'x'.repeat(length) })))

t.test('prepares small bodies here and large ones on a thread, alike', async t => {
  const preparation = new Preparation(1, log)
  t.teardown(() => preparation.close())
  for (const length of [10, 100_000]) {
    t.match(await preparation.makeReady({ operation: 'record', body: bodyOf(length) }), { operation: 'record' })
    const refused = preparation.makeReady({ operation: 'append', body: bodyOf(length) })
    await t.rejects(refused, { code: 'invalid_trace', message: 'spans: is required' })
  }
})

t.test('ends cleanly at whatever moment of its threads’ start', async t => {
  for (let moment = 0; moment < 12; moment++) {
    const preparation = new Preparation(1, log)
    const made = preparation.makeReady({ operation: 'record', body: bodyOf(100_000) })
    await delay(moment * 40)
    await Promise.all([made.catch(() => {}), preparation.close()])
  }
  t.pass('the process lives')
})
