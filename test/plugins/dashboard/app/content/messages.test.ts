import fc from 'fast-check'
import t from 'tap'
import type { Message } from '../../../../../plugins/dashboard/app/content/message.ts'
import { countRepeated, foldedCount, messagesAsText } from '../../../../../plugins/dashboard/app/content/message.ts'
import { toMessages } from '../../../../../plugins/dashboard/app/content/message-shapes.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk'

/** Formats a conversation briefly: `role: text | (thinking) | name(arguments) | → result`. */
function draw(messages: readonly Message[] | undefined): string[] | undefined {
  const part = (each: Message['parts'][number]): string => {
    if (each.kind === 'text') return each.text
    if (each.kind === 'thinking') return each.redacted ? '(redacted)' : `(${each.text})`
    if (each.kind === 'call') return `${each.name}(${JSON.stringify(each.arguments)})#${each.id}`
    if (each.kind === 'result') return `→${each.failed ? '!' : ''} ${each.content.map(part).join(' ')}#${each.id}`
    if (each.kind === 'media') return `<${each.media.type}>`
    if (each.kind === 'link') return `<${each.address}>`
    return JSON.stringify(each.value)
  }
  return messages?.map(({ role, parts }) => `${role}: ${parts.map(part).join(' | ')}`)
}
const input = (value: unknown) => draw(toMessages(value, 'user'))
const output = (value: unknown) => draw(toMessages(value, 'assistant'))

t.test('OpenAI: chat', async t => {
  const conversation = [
    { role: 'system', content: 'Be short.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is it?' },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } }
      ]
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } }]
    },
    { role: 'tool', tool_call_id: 'c1', content: 'a cat' }
  ]
  const drawn = [
    'system: Be short.',
    'user: What is it? | <image/png>',
    'assistant: look({"at":1})#c1',
    'tool: → a cat#c1'
  ]
  t.same(input(conversation), drawn)
  t.same(input({ model: 'gpt', messages: conversation, temperature: 0 }), drawn)
  t.same(input(JSON.stringify(conversation)), drawn, 'as a string')
  t.same(
    output({
      id: 'x',
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'A cat.' } }]
    }),
    ['assistant: A cat.']
  )
  t.same(output({ role: 'assistant', content: 'Yes', reasoning_content: 'Hm' }), ['assistant: (Hm) | Yes'])
  t.same(output({ role: 'assistant', toolCalls: [{ name: 'lookup', arguments: { order: 1 } }] }), [
    'assistant: lookup({"order":1})#undefined'
  ])
  t.same(output({ role: 'assistant', content: null, function_call: { name: 'f', arguments: '{' } }), [
    'assistant: f("{")#undefined'
  ])
  t.same(
    input([
      { role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'UklGRiQAAABXQVZF', format: 'wav' } }] }
    ]),
    ['user: <audio/wav>']
  )
  t.same(input([{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://x.example/a.png' } }] }]), [
    'user: <https://x.example/a.png>'
  ])
})

t.test('OpenAI: Responses items', async t => {
  const items = [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
    { type: 'reasoning', id: 'r', summary: [{ type: 'summary_text', text: 'Hm' }] },
    { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c1', output: '{"a":1}' },
    { type: 'web_search_call', id: 'w', status: 'completed' },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello', annotations: [] }] }
  ]
  const drawn = [
    'user: Hi',
    'assistant: (Hm)',
    'assistant: look({})#c1',
    'tool: → {"a":1}#c1',
    'assistant: {"type":"web_search_call","id":"w","status":"completed"}',
    'assistant: Hello'
  ]
  t.same(input(items), drawn)
  t.same(output({ object: 'response', id: 'x', output: items.slice(1) }), drawn.slice(1))
  t.same(input({ instructions: 'Be kind.', input: 'Hi' }), ['system: Be kind.', 'user: Hi'])
})

t.test('Anthropic: blocks', async t => {
  t.same(
    input({
      model: 'claude',
      system: [{ type: 'text', text: 'Be kind.' }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
            { type: 'text', text: 'What?' }
          ]
        },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm', signature: 's' },
            { type: 'redacted_thinking', data: 'x' },
            { type: 'tool_use', id: 't1', name: 'look', input: { at: 1 } }
          ]
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 't1', is_error: true, content: [{ type: 'text', text: 'none' }] }
          ]
        }
      ]
    }),
    [
      'system: Be kind.',
      'user: <image/png> | What?',
      'assistant: (Hm) | (redacted) | look({"at":1})#t1',
      'user: →! none#t1'
    ]
  )
  t.same(
    output({
      type: 'message',
      role: 'assistant',
      stop_reason: 'end_turn',
      content: [{ type: 'text', text: 'A cat.' }]
    }),
    ['assistant: A cat.']
  )
  t.same(
    output([
      { type: 'text', text: 'A cat.' },
      { type: 'tool_use', id: 't', name: 'f', input: {} }
    ]),
    ['assistant: A cat. | f({})#t']
  )
})

t.test('Gemini: contents and parts', async t => {
  t.same(
    input({
      systemInstruction: { parts: [{ text: 'Be kind.' }] },
      contents: [
        { role: 'user', parts: [{ text: 'Hi' }, { inlineData: { mimeType: 'image/png', data: PNG } }] },
        { role: 'model', parts: [{ text: 'Hm', thought: true }, { functionCall: { name: 'look', args: { at: 1 } } }] },
        { role: 'user', parts: [{ functionResponse: { name: 'look', response: { found: 2 } } }] }
      ]
    }),
    [
      'system: Be kind.',
      'user: Hi | <image/png>',
      'assistant: (Hm) | look({"at":1})#undefined',
      'user: → {"found":2}#undefined'
    ]
  )
  t.same(output({ candidates: [{ content: { role: 'model', parts: [{ text: 'Hello' }] }, finishReason: 'STOP' }] }), [
    'assistant: Hello'
  ])
  t.same(input([{ role: 'user', parts: [{ text: 'Hi' }] }]), ['user: Hi'])
})

t.test('the AI SDK: parts of models and of UI messages', async t => {
  t.same(
    input([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Hi' },
          { type: 'file', mediaType: 'image/png', data: PNG }
        ]
      },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'Hm' },
          { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: { at: 1 } }
        ]
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'c1', toolName: 'look', output: { type: 'json', value: { found: 2 } } }
        ]
      }
    ]),
    ['user: Hi | <image/png>', 'assistant: (Hm) | look({"at":1})#c1', 'tool: → {"found":2}#c1']
  )
  t.same(output({ text: 'Hello', finishReason: 'stop' }), ['assistant: Hello'])
  t.same(output({ text: '', toolCalls: [{ toolCallId: 'c', toolName: 'f', input: {} }], finishReason: 'tool-calls' }), [
    'assistant: f({})#c'
  ])
})

t.test("OpenTelemetry's conventions: parts", async t => {
  t.same(
    input([
      { role: 'user', parts: [{ type: 'text', content: 'Hi' }] },
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', content: 'Hm' },
          { type: 'tool_call', id: 'c1', name: 'look', arguments: { at: 1 } }
        ],
        finish_reason: 'tool_call'
      },
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c1', response: 'a cat' }] },
      {
        role: 'user',
        parts: [
          { type: 'blob', mime_type: 'image/png', modality: 'image', content: PNG },
          { type: 'uri', uri: 'https://x.example/a', modality: 'image' }
        ]
      }
    ]),
    ['user: Hi', 'assistant: (Hm) | look({"at":1})#c1', 'tool: → a cat#c1', 'user: <image/png> | <https://x.example/a>']
  )
})

t.test('LangChain: messages, serialised messages, and generations', async t => {
  const messages = [
    { type: 'system', content: 'Be kind.' },
    { type: 'human', content: 'Hi' },
    { type: 'ai', content: '', tool_calls: [{ id: 'c1', name: 'look', args: { at: 1 } }] },
    { type: 'tool', content: 'a cat', tool_call_id: 'c1' }
  ]
  const drawn = ['system: Be kind.', 'user: Hi', 'assistant: look({"at":1})#c1', 'tool: → a cat#c1']
  t.same(input(messages), drawn)
  t.same(input([messages]), drawn)
  t.same(input({ messages }), drawn)
  const serialised = {
    lc: 1,
    type: 'constructor',
    id: ['langchain_core', 'messages', 'HumanMessage'],
    kwargs: { content: 'Hi' }
  }
  t.same(input([[serialised]]), ['user: Hi'])
  t.same(output({ generations: [[{ text: 'Hello', message: { type: 'ai', data: { content: 'Hello' } } }]] }), [
    'assistant: Hello'
  ])
})

t.test("a text is the user's or the model's, and other values remain JSON", async t => {
  t.same(input('Hi'), ['user: Hi'])
  t.same(output('Hello'), ['assistant: Hello'])
  t.same(input({ prompt: 'Once' }), ['user: Once'])
  for (const value of [
    null,
    '',
    0,
    true,
    [],
    {},
    { question: 'x' },
    [1],
    { messages: [] },
    { messages: 'x' },
    ['a', 'b'],
    { parts: [] },
    { content: 'x' }
  ]) {
    t.equal(input(value), undefined, JSON.stringify(value))
  }
})

t.test('inputs and outputs of tools are messages only if they state roles', async t => {
  const stated = (value: unknown) => draw(toMessages(value, undefined))
  for (const plain of [
    'Hi',
    '{"a":1}',
    [{ type: 'text', text: 'x' }],
    { text: 'x' },
    { prompt: 'Once' },
    { input: 'x' }
  ]) {
    t.equal(stated(plain), undefined, JSON.stringify(plain))
  }
  t.same(stated([{ role: 'user', content: 'Hi' }]), ['user: Hi'])
  t.same(stated('{"messages":[{"role":"user","content":"Hi"}]}'), undefined, 'a string is a value, unless it is a list')
  t.same(stated('[{"role":"user","content":"Hi"}]'), ['user: Hi'])
  t.same(stated({ messages: [{ type: 'human', content: 'Hi' }] }), ['user: Hi'])
})

t.test('unusual messages do not break it', async t => {
  const names = [
    'role',
    'content',
    'type',
    'parts',
    'tool_calls',
    'text',
    'messages',
    'choices',
    'message',
    'output',
    'candidates',
    'kwargs',
    'lc',
    'id',
    'input',
    'generations',
    'source',
    'url',
    'data',
    'function',
    'name'
  ]
  const words = [
    'user',
    'text',
    'tool_use',
    'tool_result',
    'message',
    'human',
    'image',
    'file',
    'reasoning',
    'constructor',
    'data:image/png;base64,x',
    '__proto__',
    'response',
    { toString: 1, valueOf: 2 }
  ]
  const odd = fc.letrec(tie => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom<unknown>(...words, null, 1, true),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...names), tie('value'), { maxKeys: 4 })
    )
  })).value
  fc.assert(
    fc.property(odd, value => {
      const messages = toMessages(value, 'user')
      t.ok(
        messages === undefined || messages.every(({ role, parts }) => typeof role === 'string' && Array.isArray(parts))
      )
    }),
    { numRuns: 2000 }
  )
})

t.test('messages repeated in a conversation are counted, and the last message stays visible', async t => {
  const say = (text: string): Message => ({ role: 'user', parts: [{ kind: 'text', text }] })
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(say) as [Message, Message, Message, Message]
  t.equal(countRepeated([a, b], [say('a'), b, c]), 2)
  t.equal(countRepeated([], [a]), 0)
  t.equal(foldedCount([a, b, c], [a, b, c, d]), 3)
  t.equal(foldedCount([a, b, c, d], [a, b, c, d]), 3)
  t.equal(foldedCount([a], [a, b]), 0, 'too few to be worth it')
})

t.test('a conversation is copied as text', async t => {
  const messages = toMessages(
    [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: null, tool_calls: [{ function: { name: 'f', arguments: '{"a":1}' } }] }
    ],
    'user'
  )
  t.equal(messagesAsText(messages!, JSON.stringify), 'user:\nHi\n\nassistant:\n(calls f) {"a":1}')
})
