import fc from 'fast-check'
import t from 'tap'
import { readMarkdown } from '../../../../../plugins/dashboard/app/content/markdown/blocks.ts'
import { safeAddress } from '../../../../../plugins/dashboard/app/content/markdown/link.ts'
import type { Markdown } from '../../../../../plugins/dashboard/app/content/markdown/nodes.ts'
import { portionsOf } from '../../../../../plugins/dashboard/app/content/markdown/nodes.ts'
import { guessType, mediaOf, readDataUri } from '../../../../../plugins/dashboard/app/ui/media.ts'

const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const TAGS = 'p strong em del blockquote ul li tr th td table h ol task code pre a img br hr'.split(' ')

/** Returns all nodes of a tree except text. */
function all(nodes: readonly Markdown[]): Exclude<Markdown, string>[] {
  return nodes.flatMap(node =>
    typeof node === 'string' ? [] : [node, ...('children' in node ? all(node.children) : [])]
  )
}
function textOf(nodes: readonly Markdown[]): string {
  return nodes
    .map(node =>
      typeof node === 'string' ? node : 'children' in node ? textOf(node.children) : 'text' in node ? node.text : ''
    )
    .join('')
}

function depthOf(nodes: readonly Markdown[]): number {
  return (
    1 +
    nodes.reduce(
      (most, node) => Math.max(most, typeof node !== 'string' && 'children' in node ? depthOf(node.children) : 0),
      0
    )
  )
}

/** Formats a tree on one line: `p(Hello strong(you))`. */
function brief(nodes: readonly Markdown[]): string {
  return nodes
    .map(node => {
      if (typeof node === 'string') return node
      const { tag } = node
      const more = { h: 'level', ol: 'start', task: 'done', a: 'href', pre: 'language', img: 'data' }[tag as 'h']
      const name = more === undefined ? tag : `${tag}:${(node as unknown as Record<string, unknown>)[more]}`
      const inner = 'children' in node ? brief(node.children) : 'text' in node ? node.text : undefined
      return inner === undefined ? `<${name}>` : `${name}(${inner})`
    })
    .join('')
}

const READ: [text: string, tree: string][] = [
  // Paragraphs and headings
  ['one\ntwo  \n\n\n three', 'p(one<br>two)p(three)'],
  ['a\r\nb\rc', 'p(a<br>b<br>c)'],
  ['## Two ##\n###### Six\n####### no\n#no', 'h:2(Two)h:6(Six)p(####### no<br>#no)'],
  ['One\n===\ntwo\n---', 'h:1(One)h:2(two)'],
  ['***\n- - -\n_ _ _', '<hr><hr><hr>'],
  // Code
  ['```js x\na\n\n  b\n```\nc', 'pre:js(a\n\n  b)p(c)'],
  ['~~~\n```\n~~~', 'pre:(```)'],
  ['````\n```\n````', 'pre:(```)'],
  ['```\nnever closed', 'pre:(never closed)'],
  ['    a\n\n      b\nc', 'pre:(a\n\n  b)p(c)'],
  ['a\n    b', 'p(a<br>b)'],
  ['`a` ``b`c`` `` ` `` `d', 'p(code(a) code(b`c) code(`) `d)'],
  ['`*a*` *`b*`', 'p(code(*a*) *code(b*))'],
  // Quotes
  ['> a\nb\n>\n> > c', 'blockquote(p(a<br>b)blockquote(p(c)))'],
  ['> ```\n> a\nb', 'blockquote(pre:(a))p(b)'],
  ['> - a\n>   b\n\nc', 'blockquote(ul(li(a<br>b)))p(c)'],
  // Lists
  ['- a\n- b\n\n* c', 'ul(li(a)li(b))ul(li(c))'],
  ['- a\n\n- b', 'ul(li(p(a))li(p(b)))'],
  ['- a\n\n  b\n- c', 'ul(li(p(a)p(b))li(p(c)))'],
  ['- a\n  - b\n    - c\n- d', 'ul(li(aul(li(bul(li(c)))))li(d))'],
  ['7) a\n8) b\n1. c', 'ol:7(li(a)li(b))ol:1(li(c))'],
  ['1. a\n  - b\n2. c', 'ol:1(li(aul(li(b)))li(c))'],
  ['1. a\n\n   ```\n   b\n   ```\n2. c', 'ol:1(li(apre:(b))li(c))'],
  ['- a\nb\n# c', 'ul(li(a<br>b))h:1(c)'],
  ['a\n- b', 'p(a)ul(li(b))'],
  ['in\n2023. b', 'p(in<br>2023. b)'],
  ['-\n- a\n-b', 'ul(li()li(a<br>-b))'],
  ['-\ta\n\tb', 'ul(li(a<br>b))'],
  ['- [x] a\n- [ ] b\n- [y] c', 'ul(li(<task:true>a)li(<task:false>b)li([y] c))'],
  // Tables
  [
    '| a | b |\n|:-|-:|\n| `x\\|y` | *c* | more |\n| d\n\ne',
    'table(tr(th(a)th(b))tr(td(code(x|y))td(em(c)))tr(td(d)td()))p(e)'
  ],
  ['a | b\n--|--\n1 | 2\nc', 'table(tr(th(a)th(b))tr(td(1)td(2)))p(c)'],
  ['| a |\n|---|---|', 'p(| a |<br>|---|---|)'],
  // Emphasis
  ['*a* **b** ***c*** _d_ __e__ ~f~ ~~g~~', 'p(em(a) strong(b) em(strong(c)) em(d) strong(e) del(f) del(g))'],
  ['*a **b** c*', 'p(em(a strong(b) c))'],
  ['**a *b***', 'p(strong(a em(b)))'],
  ['*a **b* c**', 'p(em(a em(em(b) c)))'],
  ['a*b*c a_b_c 2 * 3 * 4', 'p(aem(b)c a_b_c 2 * 3 * 4)'],
  ['**a: **b', 'p(**a: **b)'],
  ['\\*a\\* \\a', 'p(*a* \\a)'],
  // Links and images
  ['[a *b*](https://x.y "t") [c](<https://x.y/ z>)', 'p(a:https://x.y(a em(b)) [c](<https://x.y/ z>))'],
  ['[a](https://x.y/(b)_c) (https://x.y/d).', 'p(a:https://x.y/(b)_c(a) (a:https://x.y/d(https://x.y/d)).)'],
  ['*[a*](https://x.y)*', 'p(em(a:https://x.y(a*)))'],
  ['[a][B] [b][] [b] [c]\n\n[b]: https://x.y', 'p(a:https://x.y(a) a:https://x.y(b) a:https://x.y(b) [c])'],
  ['[[a](https://x.y)](https://z)', 'p([a:https://x.y(a)](a:https://z(https://z)))'],
  ['[https://x.y](https://x.y)', 'p(a:https://x.y(https://x.y))'],
  [
    '**https://x.y** https://x.y/a_b_c, xhttps://no',
    'p(strong(a:https://x.y(https://x.y)) a:https://x.y/a_b_c(https://x.y/a_b_c), xhttps://no)'
  ],
  ['<https://x.y> <mailto:a@b.c>', 'p(a:https://x.y(https://x.y) a:mailto:a@b.c(mailto:a@b.c))'],
  ['[![a](https://x.y/i.png)](https://z)', 'p(a:https://z(image: a))'],
  ['[a](/relative) ![b](c.png)', 'p([a](/relative) ![b](c.png))'],
  // HTML and entities stay text
  ['<b>*a*</b> <a title="*x*"> &amp; <!-- *y* -->', 'p(<b>em(a)</b> <a title="*x*"> &amp; <!-- *y* -->)'],
  ['<doc>\n  *a*\n</doc>', 'p(<doc><br>em(a)<br></doc>)']
]

t.test('Markdown is parsed as by CommonMark and GitHub', async t => {
  for (const [text, tree] of READ) t.equal(brief(readMarkdown(text)!), tree, JSON.stringify(text))
})

t.test('a long text is drawn in portions, without gaps', async t => {
  const items = Array.from({ length: 500 }, (_, i) => `${i + 7}. item ${i}`).join('\n')
  const table = `| a |\n|---|\n${'| 1 |\n'.repeat(300)}`
  const tree = readMarkdown(`# Title\n\n${items}\n\ntext\n\n${table}\n> ${'long '.repeat(2000)}`)!
  const portions = portionsOf(tree, 100)
  t.equal(portions.flat().length > tree.length, true)
  t.equal(textOf(portions.flat()), textOf(tree))
  for (const portion of portions) t.ok(all(portion).length <= 200, `${all(portion).length} elements`)
  const lists = all(portions.flat()).filter(node => node.tag === 'ol')
  t.same(
    lists.map(({ start }) => start).slice(0, 3),
    [7, 7 + lists[0]!.children.length, 7 + lists[0]!.children.length + lists[1]!.children.length],
    'numbering continues'
  )
  t.same(portionsOf(readMarkdown('a\n\nb')!, 100), [readMarkdown('a\n\nb')], 'a short one is one portion')
})

t.test('typical texts of people and models are drawn', async t => {
  t.same(readMarkdown('Hello **you** and `x < y`'), [
    {
      tag: 'p',
      children: ['Hello ', { tag: 'strong', children: ['you'] }, ' and ', { tag: 'code', text: 'x < y' }]
    }
  ])
  t.match(readMarkdown('# One\n\n3. three\n4. four\n'), [
    { tag: 'h', level: 1, children: ['One'] },
    { tag: 'ol', start: 3, children: [{ tag: 'li' }, { tag: 'li' }] }
  ])
  t.match(readMarkdown('```ts\nconst a = 1\n```'), [{ tag: 'pre', text: 'const a = 1', language: 'ts' }])
  t.match(readMarkdown('| a | b |\n|---|---|\n| 1 | 2 |'), [{ tag: 'table', children: [{ tag: 'tr' }, { tag: 'tr' }] }])
  t.match(readMarkdown('- [x] done\n- [ ] not'), [
    { tag: 'ul', children: [{ children: [{ tag: 'task', done: true }] }, { children: [{ tag: 'task', done: false }] }] }
  ])
  t.match(readMarkdown(`![dot](${PIXEL})`), [{ children: [{ tag: 'img', data: PIXEL, alt: 'dot' }] }])
})

t.test('formulas are not changed, and amounts of money are not formulas', async t => {
  const line = (text: string) => brief(readMarkdown(text)!)
  for (const formula of ['$f(t)\\,dt$', '$a_1 * b_2$', '$$\\int_0^1 *x*$$', '\\(x^2 * y_1\\)', '\\[a_i *b*\\]']) {
    t.same(readMarkdown(`so ${formula} is`), [{ tag: 'p', children: [`so ${formula} is`] }], formula)
  }
  t.match(readMarkdown('text\n$$\na \\\\ b\n---\n$$\nafter'), [
    { tag: 'p' },
    { tag: 'pre', text: '$$\na \\\\ b\n---\n$$', language: 'tex' },
    { tag: 'p', children: ['after'] }
  ])
  t.match(readMarkdown('\\[\nx_1\n\\]'), [{ tag: 'pre', language: 'tex' }])
  t.equal(line('$5 and *$10*'), 'p($5 and em($10))')
  t.equal(line('$5-$10 *a*'), 'p($5-$10 em(a))')
  t.equal(line('`$a` $ *b* $'), 'p(code($a) $ em(b) $)')
  t.equal(line('\\[not a *link*\\]'), 'p([not a em(link)])')
  t.equal(line('$$\nnever closed *a*'), 'p($$<br>never closed em(a))')
})

t.test('HTML is text, and links and images have only safe targets', async t => {
  const corpus = [
    '<script>alert(1)</script>',
    'a <img src=x onerror=alert(1)> b',
    '<svg><animate onbegin=alert(1)>',
    '[x](javascript:alert(1))',
    '[x](JaVaScRiPt:alert(1))',
    '[x](java\tscript:alert(1))',
    '[x](&#106;avascript:alert(1))',
    '[x](data:text/html;base64,PHNjcmlwdD4=)',
    '[x](vbscript:x)',
    '[x](file:///etc/passwd)',
    '<javascript:alert(1)>',
    '![x](javascript:alert(1))',
    '![x](data:image/svg+xml;base64,PHN2Zz4=)',
    '![x](https://example.com/track.png)',
    '![x](//example.com/track.png)',
    '[a]: javascript:alert(1)\n\n[a]',
    '[x]( javascript:alert(1))',
    '[x](\u0001javascript:alert(1))'
  ]
  for (const text of corpus) {
    const nodes = all(readMarkdown(text) ?? [])
    for (const node of nodes) {
      t.ok(TAGS.includes(node.tag), `${text}: ${node.tag}`)
      if (node.tag === 'a') t.match(node.href, /^(?:https?|mailto):/i, text)
      if (node.tag === 'img') t.match(node.data, /^data:image\/(?:png|jpeg|gif|webp);base64,/, text)
    }
  }
  t.match(textOf(readMarkdown('a <b>c</b>')!), '<b>c</b>', 'tags are visible')
  for (const address of ['javascript:x', ' javascript:x', 'https:\u0001//x', '//x', '/x', '#x', 'data:text/html,x']) {
    t.equal(safeAddress(address), undefined, address)
  }
  t.equal(safeAddress(' https://example.com/ '), 'https://example.com/')
})

t.test('no text breaks the parser, or takes long', async t => {
  const units = [
    ...['>', '> ', '- ', '1. ', '- a\n', '  - a\n', '- \n', '- a\n\n', '1) a\n2. b\n', 'a\n> b\n- c\n'],
    ...[
      '[',
      '![[](',
      '[a](b',
      '[](<',
      '[](a "',
      '[a][',
      '](',
      '[a]: b\n',
      '[x][[y]',
      '[*a](b*)',
      '![a](data:image/png;base64,A'
    ],
    ...['*', '*a_', '**a*', '***a', '~a', '_a_', '`', '``a` ', '<', '<!--', '<a ', '&#x0;'],
    ...['$', '$a ', '$$', '$$a\n', '$$\n', '\\(', '\\[', '\\[\n', '\\(x^'],
    ...['|', '|a', '|-|\n', 'a|b\n-|-\n', ' ', '\n', '\t', '\\', '# ', 'a\n=\n', '```\n', 'http://', 'http://a(', 'a@']
  ]
  for (const unit of units) {
    const text = unit.repeat(40_000 / unit.length)
    const before = process.cpuUsage()
    const nodes = readMarkdown(text)
    const { user } = process.cpuUsage(before)
    // The limit is far above the time of a single pass, and far below that of quadratic growth.
    t.ok(user < 700_000, `${JSON.stringify(unit)}, ${text.length} characters: ${user / 1000} ms`)
    t.ok(depthOf(nodes!) < 60, `${JSON.stringify(unit)} is not nested endlessly`)
  }
  t.equal(readMarkdown('a'.repeat(200_000)), undefined, 'a long text is text')
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...'> - * _ ` [ ] ( ) ! < | # ~ \n \\ a 1. http://x'.split(' ')), { maxLength: 60 }),
      parts => {
        const nodes = readMarkdown(parts.join(''))
        t.ok(all(nodes ?? []).every(({ tag }) => TAGS.includes(tag)))
      }
    )
  )
})

t.test('only images and audio of known types are media', async t => {
  t.match(readDataUri(PIXEL), { kind: 'image', type: 'image/png' })
  t.match(readDataUri('data:audio/wav;base64,UklGRg=='), { kind: 'audio' })
  t.match(readDataUri('data:image/svg+xml;base64,PHN2Zz4='), { kind: 'file' })
  t.match(readDataUri('data:text/html;charset=utf-8;base64,PHN2Zz4='), { kind: 'file', type: 'text/html' })
  t.equal(readDataUri('data:text/html,<b>'), undefined)
  t.equal(readDataUri('https://example.com'), undefined)
  t.equal(mediaOf('image/png', '"><script>'), undefined)
  t.equal(guessType('iVBORw0KGgoAAAA'), 'image/png')
  t.equal(guessType('UklGRiQAAABXQVZF'), 'audio/wav')
  t.equal(guessType('UklGRiQAAABXRUJQ'), 'image/webp')
})
