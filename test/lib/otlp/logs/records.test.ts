import fc from 'fast-check'
import t from 'tap'
import { Refusal } from '../../../../lib/errors.ts'
import { traceIdOf } from '../../../../lib/otlp/agents/ids.ts'
import { type Logs, readLogs } from '../../../../lib/otlp/logs/records.ts'
import { readSteps } from '../../../../lib/otlp/read-export.ts'
import { DAY } from '../../../fixtures/bodies/otlp.ts'
import { encodeLogs, type GivenRecord, logsOf } from '../../../fixtures/bodies/otlp-logs.ts'
import { runs } from '../../../torture/orders.ts'

const IDS = { traceId: 'a1'.repeat(16), spanId: 'b2'.repeat(8) }
const bytesOf = (logs: object) => Buffer.from(JSON.stringify(logs))
const read = (...records: GivenRecord[]): Logs => readLogs(bytesOf(logsOf(records)), 'json')

/** Parses the messages of a single record. */
function saidBy(record: GivenRecord) {
  const [first] = read({ ...IDS, ...record }).messages
  const parsed = (text: string | null | undefined) => (text == null ? null : JSON.parse(text))
  return { input: parsed(first?.input), output: parsed(first?.output) }
}

const MESSAGE = { content: 'hello', role: 'user' }
const PARTS = [{ role: 'user', parts: [{ type: 'text', content: 'hello' }] }]
const ANSWER = [{ role: 'assistant', parts: [{ type: 'text', content: 'hi' }], finish_reason: 'stop' }]
const DETAILS = 'gen_ai.client.inference.operation.details'
const CALLS = [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }]

const SAID: readonly (readonly [string, GivenRecord, unknown, unknown])[] = [
  ['a message', { eventName: 'gen_ai.user.message', body: MESSAGE }, [{ role: 'user', content: 'hello' }], null],
  [
    'the name as an attribute, and no role',
    { attributes: { 'event.name': 'gen_ai.system.message', 'gen_ai.system': 'openai' }, body: { content: 'be kind' } },
    [{ role: 'system', content: 'be kind' }],
    null
  ],
  ['a text', { eventName: 'gen_ai.user.message', body: 'hello' }, [{ role: 'user', content: 'hello' }], null],
  [
    'a text that is JSON, as Semantic Kernel sends it',
    { eventName: 'gen_ai.assistant.message', body: JSON.stringify({ role: 'assistant', tool_calls: CALLS }) },
    [{ role: 'assistant', tool_calls: CALLS }],
    null
  ],
  [
    'attributes instead of a body',
    { eventName: 'gen_ai.tool.message', attributes: { 'gen_ai.system': 'openai', content: '42', id: 'c1' } },
    [{ role: 'tool', content: '42', id: 'c1' }],
    null
  ],
  ['no content, as in OpenAI’s default', { eventName: 'gen_ai.user.message' }, null, null],
  [
    'a choice without content',
    { eventName: 'gen_ai.choice', body: { index: 0, finish_reason: 'stop', message: { role: 'assistant' } } },
    null,
    null
  ],
  [
    'a choice',
    {
      eventName: 'gen_ai.choice',
      body: { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'hi' } }
    },
    null,
    [{ role: 'assistant', content: 'hi', index: 0, finish_reason: 'stop' }]
  ],
  [
    'a choice whose message is a string',
    { eventName: 'gen_ai.choice', body: { index: 0, message: 'hi' } },
    null,
    [{ role: 'assistant', content: 'hi', index: 0 }]
  ],
  [
    'a prompt',
    { eventName: 'gen_ai.content.prompt', attributes: { 'gen_ai.prompt': JSON.stringify(PARTS) } },
    PARTS,
    null
  ],
  [
    'a completion',
    { eventName: 'gen_ai.content.completion', attributes: { 'gen_ai.completion': JSON.stringify(ANSWER) } },
    null,
    ANSWER
  ],
  [
    'a complete call in its attributes',
    {
      eventName: DETAILS,
      attributes: {
        'gen_ai.system_instructions': [{ type: 'text', content: 'be kind' }],
        'gen_ai.input.messages': PARTS,
        'gen_ai.output.messages': ANSWER
      }
    },
    [{ role: 'system', parts: [{ type: 'text', content: 'be kind' }] }, ...PARTS],
    ANSWER
  ],
  [
    'a complete call in its body, as strings',
    { eventName: DETAILS, body: { 'gen_ai.input.messages': JSON.stringify(PARTS) } },
    PARTS,
    null
  ],
  ['a complete call without content', { eventName: DETAILS, attributes: { 'gen_ai.request.model': 'm' } }, null, null]
]

t.test('the events of libraries', t => {
  for (const [name, record, input, output] of SAID) t.strictSame(saidBy(record), { input, output }, name)
  t.end()
})

t.test("messages have the sender's time, or else the time of observation, and their position", t => {
  const event = { ...IDS, eventName: 'gen_ai.user.message', body: MESSAGE }
  const { messages } = read({ ...event, at: 3, seen: 4 }, { ...event, seen: 5 }, event)
  const sent = messages.map(({ micros, place }) => [micros, place])
  t.strictSame(sent, [
    [DAY * 1000 + 3_000_000, 0],
    [DAY * 1000 + 5_000_000, 1],
    [0, 2]
  ])
  t.match(messages[0], { ...IDS, digest: /^[0-9a-f]{32}$/ })
  t.equal(new Set(messages.map(({ digest }) => digest)).size, 3, 'the time distinguishes messages with the same words')
  t.end()
})

t.test('messages without a span are counted separately, and other records are events or dropped', t => {
  const event = { eventName: 'gen_ai.choice', body: 'hi' }
  const none = ['', '0'.repeat(16), 'b2', 'x'.repeat(16)]
  const unplaced = none.map(spanId => ({ ...event, traceId: IDS.traceId, spanId }))
  const others = [
    { ...IDS, body: 'started' },
    { traceId: IDS.traceId, eventName: 'gen_ai.evaluation.result' }
  ]
  t.match(read(...unplaced, event, ...others, { ...IDS, ...event }), {
    ...{ unplaced: 5, others: 1, events: { length: 1 }, messages: { length: 1 } }
  })
  t.match(read({ ...event, traceId: IDS.traceId.toUpperCase(), spanId: IDS.spanId.toUpperCase() }).messages, [IDS])
  t.end()
})

t.test('a coding agent without span sampling: its records name no span', t => {
  const attributes = { 'event.name': 'gemini_cli.tool_call', 'session.id': 's', prompt_id: 'p', function_name: 'f' }
  const tracesOf = (flags: number) => {
    const logs = logsOf([{ ...IDS, flags, attributes }])
    return [readLogs(bytesOf(logs), 'json'), readLogs(encodeLogs(logs), 'protobuf')].map(({ steps, events }) => {
      const { traces } = readSteps(steps!)
      return [...traces.keys(), ...events.map(({ traceId }) => traceId)]
    })
  }
  const [own, named] = [[traceIdOf('s', 'p')], [IDS.traceId, IDS.traceId]]
  t.strictSame(
    [tracesOf(0), tracesOf(1)],
    [
      [own, own],
      [named, named]
    ]
  )
  t.end()
})

t.test('a message larger than a span is cut, and remains a list', t => {
  const { messages } = read({ ...IDS, eventName: 'gen_ai.user.message', body: { content: 'so long '.repeat(250_000) } })
  const [{ input = null } = {}] = messages
  t.ok(input !== null && input.length < 800_000 && input.length > 500_000)
  t.match(JSON.parse(input as string), [{ role: 'user', content: /^so long so.*cut: 2000002 bytes in all/ }])
  const deep = `${'['.repeat(85)}1${']'.repeat(85)}`
  const nested = saidBy({ eventName: DETAILS, body: { 'gen_ai.input.messages': `[[[[[[[[${deep}]]]]]]]]` } })
  t.ok(Array.isArray(nested.input), 'nested too deep for a line of an export')
  t.end()
})

const name = fc.constantFrom(...SAID.map(([, { eventName = '' }]) => eventName), 'other')
/** Excludes null, which OTLP represents as an absent value, and integers beyond 64 bits. */
const value = fc
  .jsonValue({ maxDepth: 3 })
  .filter(value => !JSON.stringify(value).includes('null') && !/\d{16}|\de\+/.test(JSON.stringify(value)))
const record: fc.Arbitrary<GivenRecord> = fc.record(
  {
    ...{ traceId: fc.constant(IDS.traceId), spanId: fc.constant(IDS.spanId), at: fc.nat(99), seen: fc.nat(99) },
    ...{ eventName: name, body: value, attributes: fc.dictionary(fc.constantFrom('content', 'event.name', 'n'), value) }
  },
  { requiredKeys: [] }
)
const resources = fc.array(fc.array(record, { maxLength: 6 }), { maxLength: 3 })

t.test('both encodings are read alike, each record is of one of four kinds, and lists are lists', t => {
  fc.assert(
    fc.property(resources, resources => {
      const logs = logsOf(...resources)
      const fromJson = readLogs(bytesOf(logs), 'json')
      t.strictSame(readLogs(encodeLogs(logs), 'protobuf'), fromJson)
      t.equal(
        fromJson.messages.length + fromJson.events.length + fromJson.unplaced + fromJson.others,
        resources.flat().length
      )
      for (const { input, output } of fromJson.messages) {
        for (const text of [input, output]) if (text !== null && !Array.isArray(JSON.parse(text))) t.fail(text)
      }
    }),
    runs(60)
  )
  t.end()
})

t.test('arbitrary bytes are read or rejected, and fail in no other way', t => {
  const event = { ...IDS, eventName: 'gen_ai.choice', body: { message: 'hello' } }
  const logs = encodeLogs(logsOf([event, { attributes: { 'event.name': 'gen_ai.choice' } }]))
  const broken = fc
    .tuple(fc.nat(logs.length - 1), fc.integer({ min: 0, max: 255 }), fc.nat(logs.length))
    .map(([at, byte, end]) => {
      const bytes = Uint8Array.from(logs)
      bytes[at] = byte
      return bytes.subarray(0, end)
    })
  const attempt = (bytes: Uint8Array, encoding: 'json' | 'protobuf') => {
    try {
      readLogs(bytes, encoding)
      return true
    } catch (error) {
      return error instanceof Refusal && error.status === 400
    }
  }
  fc.assert(fc.property(fc.oneof(broken, fc.uint8Array()), bytes => attempt(bytes, 'protobuf')))
  fc.assert(fc.property(fc.json(), text => attempt(Buffer.from(text), 'json')))
  const wrongRecord = '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"traceId":7}]}]}]}'
  const wrongLists = ['{"resourceLogs":7}', '{"resourceLogs":[7]}', '[]', '{"resourceLogs":[{"scopeLogs":{}}]}']
  for (const odd of [...wrongLists, '{', wrongRecord]) {
    t.throws(() => readLogs(Buffer.from(odd), 'json'), { name: 'Refusal' }, odd)
  }
  t.throws(() => readLogs(logs.subarray(0, logs.length - 1), 'protobuf'), { code: 'invalid_request' })
  t.end()
})
