import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { BodyReservation } from '../../../../lib/http/body/body-reservation.ts'
import { Admission } from '../../../../lib/limits/admission.ts'
import { ARRIVAL } from '../../../../lib/limits/arrival.ts'
import { Slots } from '../../../../lib/limits/slots.ts'
import { until } from '../../../fixtures/until.ts'

const MIB = 1024 * 1024
const PARTY = 1

function setUp() {
  const admission = new Admission({ requests: 100, bytes: 100 * MIB })
  const slots = new Slots({ total: 2, each: 1, line: 10, waitMs: 60_000 })
  const reserve = (length: number | undefined, bounds = {}, slot = slots.of(PARTY)) =>
    new BodyReservation(admission, { length, party: PARTY, slot }, { ...ARRIVAL, ...bounds })
  return { slots, reserve, held: () => [admission.bytes, admission.requests] as const }
}

t.test('reserves the declared length of a body, and releases it after the response', async t => {
  const { reserve, held } = setUp()
  const room = reserve(500_000)
  room.grow(100)
  room.grow(500_000)
  room.settle()
  t.same(held(), [500_000, 1])
  room.release()
  t.same(held(), [0, 0])
})

t.test('grows with a body of undeclared length, and counts it once', async t => {
  const { reserve, held } = setUp()
  const room = reserve(undefined)
  room.grow(1)
  t.same(held(), [131_072, 1])
  room.grow(200_000)
  t.same(held(), [262_144, 1])
  room.grow(600_000)
  t.same(held(), [600_000, 1])
  room.release()
  t.same(held(), [0, 0])
})

t.test('reserves at most 8 MiB: a large body has its memory among large bodies', async t => {
  const { reserve, held } = setUp()
  const [announced, growing] = [reserve(60 * MIB), reserve(undefined)]
  t.equal(held()[0], 8 * MIB + 131_072)
  for (let bytes = 0; bytes <= 60 * MIB; bytes += MIB) growing.grow(bytes)
  t.equal(held()[0], 16 * MIB)
  for (const each of [announced, growing]) each.release()
})

t.test('keeps only the received part of a slow body', async t => {
  const { reserve, held } = setUp()
  const pace = { periodMs: 5, periodBytes: 50_000 }
  const [slow, silent] = [reserve(2_000_000, pace), reserve(1_000_000, pace)]
  slow.grow(10_000)
  await until(async () => held()[1] === 0)
  t.same(held(), [10_000, 0])
  slow.grow(20_000)
  t.same(held(), [141_072, 0])
  slow.settle()
  t.equal(held()[1], 1, 'a complete body counts as a request')
  slow.release()
  silent.release()
  t.same(held(), [0, 0])
})

t.test('keeps the memory of a body on pace, however long it takes', async t => {
  const { reserve, held } = setUp()
  const room = reserve(2_000_000, { periodMs: 20, periodBytes: 1 })
  room.onGiveUp(error => t.fail(error.message))
  for (let bytes = 100_000; bytes < 2_000_000; bytes += 100_000) {
    room.grow(bytes)
    await delay(5)
  }
  t.same(held(), [2_000_000, 1])
  room.release()
})

t.test('gives up a slow body whose slot another body needs, and one that is slow for too long', async t => {
  const { slots, reserve } = setUp()
  const slot = slots.of(PARTY)
  await slot.enter()
  const slow = reserve(2_000_000, { periodMs: 5 }, slot)
  let refusal: { code: string; status: number } | undefined
  slow.onGiveUp(error => {
    refusal = error
  })
  await delay(50)
  t.equal(refusal, undefined, 'while no body waits, it continues')
  const waiting = slots.of(PARTY)
  void waiting.enter()
  await until(async () => refusal !== undefined)
  waiting.leave()
  t.match(refusal, { code: 'quota_exhausted', status: 429 })
  slow.release()

  const late = reserve(2_000_000, { periodMs: 5, slowMs: 20 })
  late.onGiveUp(error => {
    refusal = error
  })
  await until(async () => refusal?.status === 408)
  late.release()
})

t.test('does not count the time in which a body was not read', async t => {
  const { reserve, held } = setUp()
  const room = reserve(undefined, { periodMs: 5, slowMs: 5 })
  room.onGiveUp(error => t.fail(error.message))
  room.pause()
  await delay(50)
  t.equal(held()[1], 1)
  room.resume()
  room.settle()
  await delay(20)
  t.equal(held()[1], 1)
  room.release()
})
