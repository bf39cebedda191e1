/** Tests transcript imports into a destination that fails. */
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { Refusal } from '../../../lib/errors.ts'
import { importTranscripts, type SentExport } from '../../../lib/moving/import-transcripts.ts'
import { until } from '../../fixtures/until.ts'

const CODEX = fileURLToPath(new URL('../../../../test/fixtures/transcripts/codex-0.171.0', import.meta.url))
const ACCEPTED = { rejectedSpans: 0, message: '' }

function importInto(send: () => Promise<SentExport>, follow = false, signal = new AbortController().signal) {
  const problems: string[] = []
  const onProblem = (place: string, reason: string) => problems.push(`${place}: ${reason}`)
  return { problems, done: importTranscripts({ ...{ format: 'codex', path: CODEX, follow, signal, send, onProblem } }) }
}

t.test('a database failure ends an import, and rejected spans are counted', async t => {
  for (const code of ['quota_exhausted', 'unavailable'] as const) {
    const { done } = importInto(() => Promise.reject(new Refusal(code, 'the database is away')))
    await t.rejects(done, { message: 'the database is away' })
  }
  await t.rejects(importInto(() => Promise.reject(new Error('a fault'))).done, { message: 'a fault' })
  const { done, problems } = importInto(() => Promise.reject(new Refusal('payload_too_large', 'too large')))
  const { steps, refused } = await done
  t.ok(steps > 0)
  t.equal(refused, steps)
  t.same(problems, ['refused: too large'])
})

t.test('an import with --follow waits until the database is back', async t => {
  const controller = new AbortController()
  const outcomes: (() => Promise<SentExport>)[] = [
    () => Promise.reject(new Refusal('unavailable', 'away')),
    () => Promise.reject(new Refusal('quota_exhausted', 'away'))
  ]
  let sent = 0
  const send = async () => {
    const outcome = outcomes.shift()
    if (outcome !== undefined) return outcome()
    sent++
    return ACCEPTED
  }
  const { done, problems } = importInto(send, true, controller.signal)
  await until(() => sent === 1)
  controller.abort()
  t.match(await done, { prompts: 4, refused: 0 })
  t.same(problems, [])
})
