import fc from 'fast-check'
import t from 'tap'
import { folds, jsonRowsOf, rowAfter } from '../../../../../plugins/dashboard/app/content/json-rows.ts'
import {
  countMembers,
  type JsonNode,
  memberAt,
  membersOf,
  nodeAt,
  parseExactly,
  readString,
  sourceOf,
  writeIndented
} from '../../../../../plugins/dashboard/app/content/json-text.ts'
import { anyJson, writeJson } from '../../../../fixtures/bodies/odd-json.ts'

/** Reassembles a text from its nodes alone. */
function rewrite(text: string, node: JsonNode): string {
  if (node.kind !== 'object' && node.kind !== 'array') return sourceOf(text, node)
  const members = membersOf(text, node)
  t.equal(countMembers(text, node), members.length)
  const parts = members.map(member => {
    const key = member.key === undefined ? '' : `${text.slice(member.key.start, member.key.end)}:`
    return key + rewrite(text, member.node)
  })
  return node.kind === 'object' ? `{${parts.join(',')}}` : `[${parts.join(',')}]`
}

/** Returns JSON without whitespace between values. */
const compact = (text: string) => text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, '$1')

t.test('nodes are the text that they represent', async t => {
  fc.assert(
    fc.property(anyJson, value => {
      const text = writeJson(value)
      const node = nodeAt(text)!
      t.equal(node.end, text.length)
      t.equal(rewrite(text, node), compact(text))
    })
  )
  const spaced = ' { "a" : [ 1 , -0 , 1e400 ] , "a" : { } , "" : "x\\"]" } '
  t.equal(rewrite(spaced, nodeAt(spaced)!), compact(spaced))
})

t.test('members are found by key and by index, and read a portion at a time', async t => {
  const text = '{"a":[10,11,12,13],"\\u0062":"two","__proto__":3,"a2":{"deep":null}}'
  const root = nodeAt(text)!
  t.equal(sourceOf(text, memberAt(text, root, 'b')!), '"two"')
  t.equal(sourceOf(text, memberAt(text, root, '__proto__')!), '3')
  t.equal(memberAt(text, root, 'none'), undefined)
  const list = memberAt(text, root, 'a')!
  t.equal(sourceOf(text, memberAt(text, list, 2)!), '12')
  t.same(
    membersOf(text, list, 1, 2).map(({ index, node }) => [index, sourceOf(text, node)]),
    [
      [1, '11'],
      [2, '12']
    ]
  )
  t.equal(readString('"a\\u0041\\n"', { start: 0, end: 11 }), 'aA\n')
})

t.test('a truncated text is not a value, and is not searched forever', async t => {
  for (const text of ['', '   ', '{', '["a', '"\\"', '[1,{"a":2}']) t.equal(nodeAt(text), undefined, text)
})

t.test('values preserve what doubles cannot hold', async t => {
  const text = '{"id":107505301260286111,"big":1e400,"zero":-0,"two":1.50,"__proto__":{"x":1},"n":[1,2.5,true,null]}'
  const value = parseExactly(text) as Record<string, unknown>
  t.equal(String(value.id), '107505301260286111')
  t.equal(String(value.big), '1e400')
  t.equal(String(value.zero), '-0')
  t.equal(String(value.two), '1.50')
  t.ok(Object.hasOwn(value, '__proto__'))
  t.same(value.n, [1, 2.5, true, null])
  t.equal(compact(writeIndented(value)), text)
})

t.test('parsing and formatting preserves any text', async t => {
  fc.assert(
    fc.property(anyJson, value => {
      const text = compact(writeJson(value))
      const again = compact(writeIndented(parseExactly(text)))
      t.same(JSON.parse(again), JSON.parse(text))
    })
  )
})

const NO_CHOICES = { open: new Map<string, boolean>(), most: new Map<string, number>() }

t.test('JSON becomes rows, with two levels expanded, but not long values', async t => {
  const text = JSON.stringify({ 'a b': { c: [1, { d: 2 }] }, long: Array(60).fill(0), e: [] })
  const root = nodeAt(text)!
  const rows = jsonRowsOf(text, root, NO_CHOICES)
  t.same(
    rows.map(({ path, depth, count, isOpen }) => [path, depth, count, isOpen]),
    [
      ['', 0, 3, true],
      ['["a b"]', 1, 1, true],
      ['["a b"].c', 2, 2, false],
      ['.long', 1, 60, false],
      ['.e', 1, 0, false]
    ]
  )
  const opened = jsonRowsOf(text, root, {
    ...NO_CHOICES,
    open: new Map([
      ['/0/0', true],
      ['', true],
      ['/1', true]
    ])
  })
  t.same(
    opened.slice(2, 5).map(({ path }) => path),
    ['["a b"].c', '["a b"].c[0]', '["a b"].c[1]']
  )
  t.equal(opened.length, 5 + 2 + 60)
  t.equal(jsonRowsOf(text, root, { ...NO_CHOICES, open: new Map([['', false]]) }).length, 1)
})

t.test('of many members, 200 are shown first, and then more', async t => {
  const text = JSON.stringify(Array(450).fill(1))
  const root = nodeAt(text)!
  const open = new Map([['', true]])
  const first = jsonRowsOf(text, root, { ...NO_CHOICES, open })
  t.match([first.length, first.at(-1)!.left], [201, 250])
  const all = jsonRowsOf(text, root, { open, most: new Map([['', 600]]) })
  t.match([all.length, all.at(-1)!.left], [451, 0])
})

t.test('a duplicate key has two rows', async t => {
  const text = '{"a":1,"a":{"b":2}}'
  t.same(
    jsonRowsOf(text, nodeAt(text)!, NO_CHOICES).map(({ id }) => id),
    ['', '/0', '/1', '/1/0']
  )
})

t.test('arrow keys move through rows as through a tree', async t => {
  const text = '{"a":{"b":1},"c":2}'
  const rows = jsonRowsOf(text, nodeAt(text)!, NO_CHOICES)
  const [root, a, b, c] = rows
  t.equal(rowAfter(rows, 0, 'ArrowRight'), a, 'into an expanded value')
  t.equal(rowAfter(rows, 2, 'ArrowLeft'), a, 'out of it')
  t.equal(rowAfter(rows, 2, 'ArrowDown'), c)
  t.equal(rowAfter(rows, 3, 'ArrowDown'), undefined)
  t.equal(rowAfter(rows, 1, 'End'), c)
  t.equal(rowAfter(rows, 3, 'Home'), root)
  t.ok(folds(a!, 'ArrowLeft') && folds(a!, 'Enter'))
  t.notOk(folds(a!, 'ArrowRight') || folds(b!, 'Enter'))
})
