import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { BodyReservation } from '../../../../lib/http/body/body-reservation.ts'
import { until } from '../../../fixtures/until.ts'

/** Keeps count of what is admitted. */
function counter() {
  const held = { bytes: 0, requests: 0 }
  return {
    held,
    admit(bytes: number, requests = 1) {
      held.bytes += bytes
      held.requests += requests
      return {
        release() {
          held.bytes -= bytes
          held.requests -= requests
        }
      }
    }
  }
}

t.test('keeps what a body announces, and lets it go when it is answered', t => {
  const ingest = counter()
  const room = new BodyReservation(ingest, 500_000)
  room.grow(100)
  room.grow(500_000)
  room.settle()
  t.same(ingest.held, { bytes: 500_000, requests: 1 })
  room.release()
  t.same(ingest.held, { bytes: 0, requests: 0 })
  t.end()
})

t.test('grows with a body that announces nothing, and counts it once', t => {
  const ingest = counter()
  const room = new BodyReservation(ingest, undefined)
  room.grow(1)
  t.same(ingest.held, { bytes: 131_072, requests: 1 })
  room.grow(200_000)
  t.same(ingest.held, { bytes: 262_144, requests: 1 })
  room.grow(600_000)
  t.same(ingest.held, { bytes: 600_000, requests: 1 })
  room.release()
  t.same(ingest.held, { bytes: 0, requests: 0 })
  t.end()
})

t.test('keeps only what has come of a body that takes long', async t => {
  const ingest = counter()
  const pace = { ms: 5, bytes: 50_000 }
  const [slow, silent] = [new BodyReservation(ingest, 2_000_000, pace), new BodyReservation(ingest, 1_000_000, pace)]
  slow.grow(10_000)
  await until(() => ingest.held.requests === 0)
  t.same(ingest.held, { bytes: 10_000, requests: 0 })
  slow.grow(20_000)
  t.same(ingest.held, { bytes: 141_072, requests: 0 })
  slow.settle()
  t.equal(ingest.held.requests, 1, 'when it is whole it is a request')
  slow.release()
  silent.release()
  t.same(ingest.held, { bytes: 0, requests: 0 })
})

t.test('keeps the room of a body that comes, however long it takes', async t => {
  const ingest = counter()
  const room = new BodyReservation(ingest, 2_000_000, { ms: 20, bytes: 1 })
  for (let bytes = 100_000; bytes < 2_000_000; bytes += 100_000) {
    room.grow(bytes)
    await delay(5)
  }
  t.same(ingest.held, { bytes: 2_000_000, requests: 1 })
  room.release()
})
