import fc from 'fast-check'
import t from 'tap'
import { roleOf } from '../../../lib/search/roles.ts'
import { searchedTexts } from '../../../lib/search/texts.ts'
import { findIn, readWanted } from '../../../lib/search/wanted.ts'

const message = (role: string, content: unknown) => ({ role, content })

t.test("a text has its message's role, in any order of members", t => {
  const conversation = {
    messages: [
      message('system', 'You help "people".'),
      { content: [{ type: 'text', text: 'where is it' }], role: 'user' },
      { role: 'assistant', parts: [{ nested: { deep: ['on its way'] } }] },
      { name: 'nobody', text: 'free text' }
    ],
    role: null
  }
  const json = JSON.stringify(conversation)
  t.equal(roleOf(json, 'You help "people".'), 'system')
  t.equal(roleOf(json, 'You help'), 'system', 'the text may be truncated')
  t.equal(roleOf(json, 'where is it'), 'user')
  t.equal(roleOf(json, 'on its way'), 'assistant')
  t.equal(roleOf(json, 'free text'), null)
  t.equal(roleOf(json, 'not there'), null)
  t.equal(roleOf('"where is it"', 'where is it'), null)
  for (let end = json.indexOf('on its way') + 10; end < json.length; end++) {
    t.equal(roleOf(json.slice(0, end), 'on its way'), 'assistant', 'the JSON may be truncated')
  }
  t.end()
})

t.test('any JSON, complete or truncated, has a role or none', t => {
  const value = fc.array(fc.record({ role: fc.constantFrom('user', 'tool'), content: fc.jsonValue() }))
  fc.assert(
    fc.property(value, fc.nat(500), fc.string(), (messages, cut, text) => {
      t.ok([null, 'user', 'tool'].includes(roleOf(JSON.stringify(messages).slice(0, cut), text)))
    })
  )
  fc.assert(
    fc.property(fc.string(), fc.string(), (json, text) => [null, 'string'].includes(roleOf(json, text) && 'string'))
  )
  t.end()
})

t.test('an excerpt names its span and role, and is not from a system prompt if another text matches', t => {
  const prompt = message('system', 'You answer questions about refunds and orders.')
  const call = (id: string, ...messages: object[]) => ({ id, input: JSON.stringify(messages), output: null })
  const excerpt = (query: string, calls: readonly ReturnType<typeof call>[]) =>
    findIn(
      searchedTexts({ name: 'agent', input: null, output: null, metadata: null, calls, tools: [], errors: [] }),
      readWanted(query)!
    )
  const asked = call('a1', prompt, message('user', 'I want refunds'))
  t.match(excerpt('refunds', [asked]), { spanId: 'a1', role: 'user', text: 'I want refunds' })
  t.match(excerpt('refunds orders', [asked]), { spanId: 'a1', role: 'user' }, 'the words may be in different texts')
  t.match(excerpt('orders', [asked]), { spanId: 'a1', role: 'system', text: /about refunds and orders/ })
  const later = call('b2', prompt, message('developer', 'No refunds.'), message('tool', 'orders: none'))
  t.match(excerpt('refunds', [later]), { spanId: 'b2', role: 'system' })
  t.match(excerpt('orders', [later]), { spanId: 'b2', role: 'tool' })
  t.match(excerpt('agent', [later]), { place: 'name', spanId: null, role: null })
  t.equal(excerpt('orders missing', [later]), undefined)
  t.end()
})
