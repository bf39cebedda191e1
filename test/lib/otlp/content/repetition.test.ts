import fc from 'fast-check'
import t from 'tap'
import { isRepetition } from '../../../../lib/otlp/content/repetition.ts'
import type { Json } from '../../../../lib/trace/json/exact-json.ts'
import { mapAttributes } from '../mapped.ts'

const said: Record<string, Json> = {
  'llm.input_messages.0.message.role': 'user',
  'llm.input_messages.0.message.content': 'hi',
  'llm.model_name': 'm',
  'llm.invocation_parameters': '{"temperature":0.5,"stream":false}'
}
const repeats = (value: Json, others = said) => isRepetition(value, Object.entries(others))

t.test('a repetition adds nothing to the others', async t => {
  const message = { role: 'user', content: 'hi' }
  const constructed = (kwargs: object) => ({ lc: 1, type: 'constructor', id: ['langchain', 'HumanMessage'], kwargs })
  const cases: [boolean, string, Json][] = [
    [true, 'the text alone', 'hi'],
    [true, 'the request', { messages: [message], model: 'm', temperature: 0.5, stream: false, tools: [], user: null }],
    [true, 'parts of a text', [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }]],
    [true, 'nothing', {}],
    [true, 'a constructor', { messages: [[constructed({ content: 'hi', type: 'human' })]] }],
    [false, 'a constructor that is given more', constructed({ content: 'hi', name: 'Ann' })],
    [false, 'a constructor with more', { ...constructed({ content: 'hi' }), name: 'Ann' }],
    [false, 'another text', { messages: [message], model: 'n' }],
    [false, 'a text more often', [message, message]],
    [false, 'another number', { ...message, temperature: 1 }],
    [false, 'a number of another name', { ...message, top_p: 0.5 }],
    [false, 'another truth', { ...message, stream: true }],
    [false, 'the notation of an object', "ChatMessage(role='user', content='hi')"],
    [false, 'a type that says something', { ...message, type: 'invoice' }]
  ]
  for (const [is, title, value] of cases) t.equal(repeats(value), is, title)
})

t.test('a number of any length is a leaf', async t => {
  const long = mapAttributes({
    'openinference.span.kind': 'LLM',
    'llm.invocation_parameters': '{"seed":12345678901234567890}',
    'llm.input_messages.0.message.content': 'hi',
    'input.value': '{"content":"hi","seed":12345678901234567890}'
  })
  t.equal(long.attributes['input.value'], undefined)
})

t.test('any value repeats itself, and no value that contains more', async () => {
  const values = fc.jsonValue({ maxDepth: 4 })
  fc.assert(
    fc.property(values, values, (value, more) => {
      const others: [string, Json][] = [['llm.x', value as Json]]
      return (
        isRepetition({ x: value as Json }, others) &&
        isRepetition({ x: value as Json, more: [more as Json, 'and'] }, others) === false
      )
    })
  )
})

t.test('calls of models, retrievers and rerankers show their messages and documents', async t => {
  const side = (name: string, text: string) => ({ [`llm.${name}_messages.0.message.content`]: text })
  const dump = "ChatMessage(role='user', content='hi')"
  const llm = { 'openinference.span.kind': 'LLM', ...side('input', 'hi'), ...side('output', 'yes') }
  const shown = { input: [{ message: { content: 'hi' } }], output: [{ message: { content: 'yes' } }] }
  const kept = mapAttributes({ ...llm, 'input.value': dump, 'output.value': '{"id":"r1","content":"yes"}' })
  t.match(kept, { ...shown, attributes: { 'input.value': dump, 'output.value': '{"id":"r1","content":"yes"}' } })
  const json = { 'input.mime_type': 'application/json', 'input.value': '{"messages":[{"content":"hi"}]}' }
  const once = mapAttributes({ ...llm, ...json, 'output.value': 'yes' })
  t.match(once, shown)
  t.strictSame(
    Object.keys(once.attributes).filter(name => /put/.test(name)),
    []
  )
  const crossed = mapAttributes({ ...llm, 'input.value': 'yes', 'output.value': 'hi' })
  t.match(crossed, { ...shown, attributes: { 'input.value': 'yes', 'output.value': 'hi' } }, 'each side separately')
  t.match(mapAttributes({ 'openinference.span.kind': 'LLM', 'input.value': dump }), { input: dump })

  const chain = mapAttributes({ ...llm, 'openinference.span.kind': 'CHAIN', 'input.value': 'asked' })
  t.match(chain, { input: 'asked', attributes: { 'llm.input_messages.0.message.content': 'hi' } })

  const found = { 'retrieval.documents.0.document.content': 'd', 'output.value': '<NodeWithScore d>' }
  t.match(mapAttributes({ 'openinference.span.kind': 'RETRIEVER', 'input.value': 'q', ...found }), {
    input: 'q',
    output: [{ document: { content: 'd' } }],
    attributes: { 'output.value': '<NodeWithScore d>' }
  })
  const ranked = {
    'openinference.span.kind': 'RERANKER',
    'input.value': '<Query q>',
    'reranker.query': 'q',
    'reranker.output_documents.0.document.score': 0.5
  }
  const output = [{ document: { score: 0.5 } }]
  t.match(mapAttributes(ranked), { input: 'q', output })
  t.match(mapAttributes({ ...ranked, 'reranker.input_documents.0.document.content': 'd' }), {
    input: { query: 'q', documents: [{ document: { content: 'd' } }] },
    output
  })
})
