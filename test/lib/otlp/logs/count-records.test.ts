import fc from 'fast-check'
import t from 'tap'
import { Refusal } from '../../../../lib/errors.ts'
import { countRecords } from '../../../../lib/otlp/logs/count-records.ts'
import { encodeLogs, type GivenRecord, logsOf } from '../../../fixtures/bodies/otlp-logs.ts'

const CARRIERS = [
  'gen_ai.system.message',
  'gen_ai.user.message',
  'gen_ai.assistant.message',
  'gen_ai.tool.message',
  'gen_ai.choice',
  'gen_ai.client.inference.operation.details'
]
const name = fc.oneof(fc.constantFrom(...CARRIERS), fc.constantFrom('', 'gen_ai.evaluation.result', 'x'.repeat(9000)))
const record: fc.Arbitrary<GivenRecord> = fc.record(
  { eventName: name, attribute: name, text: fc.string({ unit: 'grapheme' }) },
  { requiredKeys: [] }
)

t.test('both encodings count the records, and those that carry messages', t => {
  fc.assert(
    fc.property(fc.array(fc.array(record, { maxLength: 9 }), { maxLength: 4 }), resources => {
      const all = resources.flat()
      // The field of records comes before the attribute, as an empty text does not count.
      const messages = all.filter(({ eventName, attribute }) => CARRIERS.includes(eventName || attribute || '')).length
      const wanted = { records: all.length, messages }
      const logs = logsOf(...resources)
      t.same(countRecords(Buffer.from(JSON.stringify(logs)), 'json'), wanted)
      t.same(countRecords(encodeLogs(logs), 'protobuf'), wanted)
    }),
    { numRuns: 200 }
  )
  t.end()
})

t.test('bytes that are anything are counted or refused, and fail in no other way', t => {
  const logs = encodeLogs(logsOf([{ eventName: 'gen_ai.choice', text: 'hello' }, { attribute: 'gen_ai.choice' }]))
  const broken = fc
    .tuple(fc.nat(logs.length - 1), fc.integer({ min: 0, max: 255 }), fc.nat(logs.length))
    .map(([at, byte, end]) => {
      const bytes = Uint8Array.from(logs)
      bytes[at] = byte
      return bytes.subarray(0, end)
    })
  const attempt = (bytes: Uint8Array, encoding: 'json' | 'protobuf') => {
    try {
      const { records, messages } = countRecords(bytes, encoding)
      return messages <= records
    } catch (error) {
      return error instanceof Refusal && error.status === 400
    }
  }
  fc.assert(fc.property(fc.oneof(broken, fc.uint8Array()), bytes => attempt(bytes, 'protobuf')))
  fc.assert(fc.property(fc.json(), text => attempt(Buffer.from(text), 'json')))
  for (const odd of ['{"resourceLogs":7}', '{"resourceLogs":[7]}', '[]', '{', '{"resourceLogs":[{"scopeLogs":{}}]}']) {
    t.throws(() => countRecords(Buffer.from(odd), 'json'), { name: 'Refusal' }, odd)
  }
  t.throws(() => countRecords(logs.subarray(0, logs.length - 1), 'protobuf'), { code: 'invalid_request' })
  t.end()
})
