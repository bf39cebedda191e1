import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { cutText, previewOf } from '../../../../lib/store/finding/preview.ts'

t.test('previews show the text that a person would look for', async t => {
  const of = (value: unknown, side: 'input' | 'output' = 'input') => previewOf(JSON.stringify(value), side)
  t.equal(previewOf(null, 'input'), null)
  t.equal(of('  two\n lines '), 'two lines')
  t.equal(of({ question: 'Where?', limit: 5 }), 'Where?')
  t.equal(of([1, 2, { a: true }]), '[1,2,{"a":true}]')
  const chat = [
    { role: 'system', content: 'You are helpful.' },
    { role: 'user', content: 'First' },
    { role: 'assistant', content: 'Yes?' },
    { role: 'user', content: [{ type: 'text', text: 'Second' }] }
  ]
  t.equal(of(chat), 'Second', "the user's last message")
  t.equal(of(chat, 'output'), 'You are helpful. First Yes? Second')
  t.equal(of([{ content: 'Only', role: 'user' }]), 'Only', 'the role can come last')
})

t.test('a cut text is well formed and short enough', async () =>
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 20 }), (text, most) => {
      const cut = cutText(text, most)
      assert.ok(cut.isWellFormed() && [...cut].length <= most)
      if ([...text].length <= most) assert.equal(cut, text.toWellFormed())
      else assert.ok(text.startsWith(cut.slice(0, -1)) && cut.endsWith('…'))
    })
  )
)
