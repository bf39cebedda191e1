/**
 * Checks that the document of a trace that was started and then ended is as large as that of the same trace recorded at
 * once.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { prepare } from '../../../lib/trace/prepare.ts'
import { decide } from '../../../lib/trace/states/decide.ts'
import { startedState } from '../../../lib/trace/states/state-after.ts'
import { endBody, ingestBody, startBody } from '../../fixtures/bodies/bodies.ts'
import { anyJson, Raw, writeJson } from '../../fixtures/bodies/odd-json.ts'

const bytes = (body: unknown) => Buffer.from(writeJson(body))
const word = fc.constantFrom('a', 'é', 'openai', 'a "quoted" one')
const either = {
  provider: word,
  model: word,
  costUsd: fc.constantFrom(0, 0.5, 12),
  usage: fc.record({ inputTokens: fc.nat(2000), totalTokens: fc.nat(9) }, { requiredKeys: [] }),
  tags: fc.uniqueArray(word),
  output: anyJson,
  metadata: fc.dictionary(
    fc.constantFrom('a', 'b', 'é'),
    fc.constantFrom(1, 'text', true, new Raw('1.50'), new Raw('-0'))
  )
}
const fields = fc.record(either, { requiredKeys: [] })

t.test('the document of a trace that ended', async () => {
  fc.assert(
    fc.property(fields, fields, fc.constantFrom('ok', 'error'), (first, last, status) => {
      const { trace } = startBody(first)
      const started = startedState(prepare('record', bytes({ schemaVersion: 1, trace })))
      const state = { ...started, seq: 1, version: 1, environment: null }
      const end = prepare('end', bytes(endBody({ ...last, status })))
      const decision = decide(state, { ...end, environment: null })
      const tags = [...new Set([...(first.tags ?? []), ...(last.tags ?? [])])]
      const metadata = { ...first.metadata, ...last.metadata }
      const whole = ingestBody({ ...trace, ...last, status, tags, metadata })
      assert.equal(decision.type, 'change')
      assert.equal(
        decision.type === 'change' && decision.change.ending?.documentBytes,
        prepare('record', bytes(whole)).bytes
      )
    }),
    { numRuns: 500 }
  )
})
