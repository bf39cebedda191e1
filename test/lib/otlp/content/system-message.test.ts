import t from 'tap'
import { messagesOf } from '../../../../lib/otlp/logs/messages.ts'
import { mapAttributes } from '../mapped.ts'

const TEXT = 'You are X.\nBe brief.'
const part = (content: string) => ({ type: 'text', content })
const SYSTEM = { role: 'system', parts: [part(TEXT)] }
const USER = { role: 'user', parts: [part('hi')] }

/** The same instructions in the forms that senders use, as values and as JSON strings. */
const FORMS: readonly unknown[] = [
  TEXT,
  JSON.stringify(TEXT),
  { parts: [part(TEXT)] },
  { parts: [{ text: TEXT }] },
  { role: 'system', parts: [part(TEXT)] },
  { role: 'user', parts: [{ text: TEXT }] },
  { role: 'system', content: TEXT },
  [TEXT],
  [part(TEXT)],
  [{ text: TEXT }],
  [{ role: 'system', content: TEXT }]
]

t.test('instructions in any form are a system message, on spans and in log records', async t => {
  for (const form of FORMS) {
    for (const instructions of typeof form === 'string' ? [form] : [form, JSON.stringify(form)]) {
      const title = JSON.stringify(instructions)
      const attributes = { 'gen_ai.system_instructions': instructions, 'gen_ai.input.messages': JSON.stringify([USER]) }
      t.strictSame(mapAttributes(attributes).input, [SYSTEM, USER], title)
      const both = { ...attributes, 'gen_ai.input.messages': JSON.stringify([SYSTEM, USER]) }
      t.strictSame(mapAttributes(both).input, [SYSTEM, USER], `${title}, which is also among the messages`)
      t.strictSame(mapAttributes({ 'gen_ai.system_instructions': instructions }).input, [SYSTEM], `${title} alone`)
      const record = { eventName: 'gen_ai.client.inference.operation.details', body: null } as never
      const said = messagesOf(Object.assign({ attributes: new Map(Object.entries(attributes)) }, record))
      t.strictSame(said?.input, [SYSTEM, USER], `${title} in a record`)
    }
  }
})

t.test('several parts stay separate, and an instruction that looks like a number is text', async t => {
  const read = (instructions: unknown) => mapAttributes({ 'gen_ai.system_instructions': instructions }).input
  t.strictSame(read(['a', 'b']), [{ role: 'system', parts: [part('a'), part('b')] }])
  const image = { type: 'image', uri: 'x' }
  t.strictSame(read([part('a'), image]), [{ role: 'system', parts: [part('a'), image] }])
  for (const text of ['123', 'true', 'null', '{bad']) {
    t.strictSame(read(text), [{ role: 'system', parts: [part(text)] }], text)
  }
  for (const nothing of ['', [], '[]', { parts: [] }]) t.equal(read(nothing), undefined)
  t.strictSame(read({ a: 1 }), [{ role: 'system', parts: [{ a: 1 }] }])
})
