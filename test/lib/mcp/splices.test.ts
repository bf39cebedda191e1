import t from 'tap'
import { Splices, show } from '../../../lib/mcp/splices.ts'

t.test('texts replace their markers, as strings or unchanged', async t => {
  const splices = new Splices()
  const texts = ['{"a":12345678901234567890}', '{"q":"\\"$&$1","u":"é\\u0000"}', '{}']
  const answers = texts.map(text => {
    const { asString, asObject } = splices.mark(show(text))
    return { content: [{ type: 'text', text: asString }], structuredContent: asObject }
  })
  const expected = texts.map(
    text => `{"content":[{"type":"text","text":${JSON.stringify(text)}}],"structuredContent":${text}}`
  )
  t.equal(splices.fill(JSON.stringify(answers)).join(''), `[${expected.join(',')}]`)
})

t.test('text without markers is unchanged', async t => {
  t.equal(new Splices().fill('{"a":"$&","b":[0]}').join(''), '{"a":"$&","b":[0]}')
})
