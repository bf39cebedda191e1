import fc from 'fast-check'
import t from 'tap'
import { textOfAttribute } from '../../../lib/otlp/text.ts'
import { runs } from '../../torture/orders.ts'
import { mapAttributes, mapOne } from './mapped.ts'

const CALL = { 'gen_ai.operation.name': 'chat' }

t.test('ids, names, models, providers and tags are repaired by one rule', async t => {
  const long = '😀'.repeat(201)
  const cases: [unknown, string][] = [
    ['plain', 'plain'],
    [long, '😀'.repeat(200)],
    ['a\u0000b', 'a\ufffdb'],
    ['a\ud800', 'a\ufffd'],
    [7, '7'],
    [0.5, '0.5'],
    [true, 'true'],
    [false, 'false'],
    ['"q"', '"q"'],
    ['null', 'null']
  ]
  const fields: [string, (value: unknown) => unknown][] = [
    ['model', value => mapAttributes({ 'gen_ai.request.model': value }).model],
    ['provider', value => mapAttributes({ 'gen_ai.provider.name': value }).provider],
    ['session', value => mapAttributes({ 'session.id': value }).hints.sessionId],
    ['conversation', value => mapAttributes({ 'gen_ai.conversation.id': value }).hints.sessionId],
    ['user', value => mapAttributes({ 'user.id': value }).hints.userId],
    ['response', value => mapAttributes({ ...CALL, 'gen_ai.response.id': value }).callDetails.responseId],
    ['tag', value => mapAttributes({ 'tag.tags': ['x', value] }).hints.tags[1]]
  ]
  for (const [name, read] of fields) {
    // Tags are cut to a shorter length than the other fields.
    for (const [value, text] of cases) {
      const expected = name === 'tag' ? [...text].slice(0, [...String(read(long))].length).join('') : text
      t.equal(read(value), expected, `${name}: ${String(value).slice(0, 9)}`)
    }
    for (const value of ['', ['a'], { a: 1 }]) t.equal(read(value), undefined, `${name} is not text`)
  }
  t.match(mapAttributes({ 'gen_ai.request.model': long }).attributes, { 'gen_ai.request.model': long }, 'kept as sent')
  t.equal(mapAttributes({ 'gen_ai.request.model': 'm' }).attributes['gen_ai.request.model'], undefined)
  t.equal(mapOne({ name: 'a\u0000' }).name, 'a\ufffd')
})

t.test('repaired texts fit a column', async () => {
  const values = fc.oneof(fc.string({ unit: 'binary' }), fc.double(), fc.boolean())
  const fits = fc.property(values, fc.integer({ min: 1, max: 9 }), (value, length) => {
    const text = textOfAttribute(value, length)
    if (text === undefined) return value === ''
    return [...text].length <= length && text.isWellFormed() && !text.includes('\u0000') && text !== ''
  })
  fc.assert(fits, runs(200))
})

t.test('quotation marks are kept unless MLflow sent the span', async t => {
  for (const [name, hint] of [
    ['user.id', 'userId'],
    ['session.id', 'sessionId']
  ] as const) {
    t.equal(mapAttributes({ [name]: '"q"' }).hints[hint], '"q"')
    t.equal(mapAttributes({ [name]: '"q"', 'mlflow.spanType': '"LLM"' }).hints[hint], 'q')
  }
})

t.test('a plain text that looks like JSON remains text if the SDK sends plain texts', async t => {
  const bare: [string, 'input' | 'output'][] = [
    ['langfuse.observation.input', 'input'],
    ['langfuse.observation.output', 'output'],
    ['gen_ai.tool.call.result', 'output'],
    ['gen_ai.tool.call.arguments', 'input'],
    ['ai.response.text', 'output']
  ]
  const encoded: [string, 'input' | 'output'][] = [
    ['traceloop.entity.input', 'input'],
    ['traceloop.entity.output', 'output'],
    ['mlflow.spanInputs', 'input'],
    ['mlflow.spanOutputs', 'output'],
    ['ai.toolCall.result', 'output']
  ]
  for (const text of ['123', 'true', 'null', '-1', '9007199254740993', '1e5']) {
    for (const [name, field] of bare) t.strictSame(mapAttributes({ [name]: text })[field], text, `${name}=${text}`)
    for (const name of ['langfuse.trace.input', 'langfuse.trace.output'] as const) {
      const hints = mapAttributes({ [name]: text }).hints
      t.equal(name.endsWith('input') ? hints.input : hints.output, JSON.stringify(text))
    }
    t.equal(mapAttributes({ 'langfuse.trace.metadata.order': text }).hints.metadata.order, JSON.stringify(text))
  }
  for (const [name, field] of encoded) t.strictSame(mapAttributes({ [name]: '123' })[field], 123, name)
  for (const [name, field] of [...bare, ...encoded].filter(([name]) => name !== 'ai.response.text')) {
    t.strictSame(mapAttributes({ [name]: '{"a":1}' })[field], { a: 1 }, name)
  }
})
