import fc from 'fast-check'
import t from 'tap'
import {
  besidesMessages,
  parametersIn,
  scalarText,
  toolNames
} from '../../../../../plugins/dashboard/app/content/besides.ts'
import { readCode } from '../../../../../plugins/dashboard/app/content/code-tokens.ts'
import { nodeAt, sourceOf } from '../../../../../plugins/dashboard/app/content/json-text.ts'
import { compareMetadata, metadataLeaves } from '../../../../../plugins/dashboard/app/content/metadata-leaves.ts'
import { wholeJson } from '../../../../../plugins/dashboard/app/content/whole-json.ts'

const tool = (name: string) => ({ type: 'function', function: { name, parameters: {} } })

t.test("a request's data other than its messages", async t => {
  const text = JSON.stringify({
    model: 'm',
    messages: [{ role: 'user', content: 'x' }],
    temperature: 0.2,
    tools: [tool('search'), { name: 'refund', input_schema: {} }],
    text: { format: { type: 'json_schema' } },
    stop: null
  })
  const found = besidesMessages(text, nodeAt(text))
  t.same(
    found.map(({ name }) => name),
    ['model', 'temperature', 'tools', 'text']
  )
  t.same(found.map(scalarText), ['m', '0.2', undefined, undefined])
  t.same(toolNames(found[2]!), ['search', 'refund'])
  t.same(besidesMessages('[1]', nodeAt('[1]')), [])
  t.same(besidesMessages('', undefined), [])
})

t.test('parameters stated by attributes', async t => {
  const text = JSON.stringify({
    'gen_ai.request.model': 'm',
    'gen_ai.request.temperature': 0.5,
    'llm.invocation_parameters': '{"top_p":0.90,"tools":[]}',
    'gen_ai.tool.definitions': JSON.stringify([tool('search')]),
    'ai.prompt.tools': ['{"name":"x"}'],
    other: 1
  })
  const found = parametersIn(text, nodeAt(text))
  t.same(
    found.map(({ name }) => name),
    ['temperature', 'invocation_parameters', 'definitions', 'tools']
  )
  t.equal(sourceOf(found[1]!.text, found[1]!.node), '{"top_p":0.90,"tools":[]}', 'JSON in a string, digit by digit')
  t.same(toolNames(found[2]!), ['search'])
  const settings = JSON.stringify({ lookup: { description: 'x' }, refund: {} })
  t.same(toolNames({ name: 'tools', text: settings, node: nodeAt(settings)! }), ['lookup', 'refund'], 'named by keys')
})

t.test('a text is JSON if it consists entirely of an object or array', async t => {
  t.match(wholeJson(' {"a":1}\n'), { kind: 'object', start: 1, end: 8 })
  t.match(wholeJson('[1]'), { kind: 'array' })
  for (const text of ['', '1', '"x"', '{a}', '[1] and more', '[link](x)', '{"a":1}}'])
    t.equal(wholeJson(text), undefined)
})

t.test("metadata is flattened, without spoor's additions", async t => {
  const metadata = {
    release: '2.1',
    build: { sha: 'abc', n: 9007199254740993n.toString() },
    list: [1],
    none: null,
    spoor: { x: 1 }
  }
  t.same(metadataLeaves(metadata), [
    { name: 'release', value: '2.1' },
    { name: 'build.sha', value: 'abc' },
    { name: 'build.n', value: '9007199254740993' },
    { name: 'list', value: '[1]' }
  ])
  t.same(metadataLeaves({ big: 1e21 }), [{ name: 'big', value: '≈ 1e+21' }], 'a rounded number is marked')
  fc.assert(fc.property(fc.dictionary(fc.string(), fc.jsonValue()), any => metadataLeaves(any).length <= 200))
})

t.test("metadata of two traces: the differences, and the visitor's selection", async t => {
  const [a, b] = [
    { v: '1', same: 'x', kept: 'y', only: 'a' },
    { v: '2', same: 'x', kept: 'y' }
  ].map(metadataLeaves)
  t.same(compareMetadata(a!, b!, ['kept']), [
    { name: 'v', a: '1', b: '2' },
    { name: 'kept', a: 'y', b: 'y' },
    { name: 'only', a: 'a', b: undefined }
  ])
})

t.test('code in known languages has tokens', async t => {
  const tokens = (code: string, language: string) =>
    readCode(code, language).map(({ kind, start, end }) => `${kind} ${code.slice(start, end)}`)
  t.same(tokens("def f(x): # \"no\"\n  return 0x1f + 'a\\'b'", 'Python'), [
    'keyword def',
    'comment # "no"',
    'keyword return',
    'number 0x1f',
    "string 'a\\'b'"
  ])
  t.same(tokens('const a = `b\nc` // d', 'ts'), ['keyword const', 'string `b\nc`', 'comment // d'])
  t.same(tokens('SELECT a FROM b -- c', 'sql'), ['keyword SELECT', 'keyword FROM', 'comment -- c'])
  t.same(tokens('a = 1', 'unknown'), [])
  t.same(readCode('x'.repeat(40_000), 'js'), [])
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('"', "'", '`', '/', '*', '#', '\\', '\n', 'a', '1', '-') }), code => {
      let at = 0
      return readCode(code, 'js').every(({ start, end }) => {
        const isAfter = start >= at && end > start && end <= code.length
        at = end
        return isAfter
      })
    })
  )
})
