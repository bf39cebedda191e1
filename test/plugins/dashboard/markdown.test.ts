import fc from 'fast-check'
import t from 'tap'
import { type Markdown, readMarkdown, safeAddress } from '../../../plugins/dashboard/app/lib/markdown.ts'
import { guessType, mediaOf, readDataUri } from '../../../plugins/dashboard/app/lib/media.ts'

const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const TAGS = 'p strong em del blockquote ul li tr th td table h ol task code pre a img br hr'.split(' ')

/** All nodes of a tree that are not text. */
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

t.test('what people and models write is drawn', async t => {
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

t.test('HTML is text, and links and images lead nowhere bad', async t => {
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
  t.match(textOf(readMarkdown('a <b>c</b>')!), '<b>c</b>', 'tags are seen')
  for (const address of ['javascript:x', ' javascript:x', 'https:\u0001//x', '//x', '/x', '#x', 'data:text/html,x']) {
    t.equal(safeAddress(address), undefined, address)
  }
  t.equal(safeAddress(' https://example.com/ '), 'https://example.com/')
})

t.test('no text breaks it, or keeps it busy', async t => {
  const deep = [
    '>'.repeat(5000),
    '> '.repeat(5000),
    '- '.repeat(3000),
    '1. '.repeat(3000),
    `${'> '.repeat(39)}${' '.repeat(5000)}x`,
    '['.repeat(20_000),
    '![[]('.repeat(4000),
    '*'.repeat(20_000),
    '*a_'.repeat(7000),
    '*a_'.repeat(330),
    '`'.repeat(20_000),
    '<'.repeat(20_000),
    '<!--'.repeat(5000),
    '|a'.repeat(10_000),
    `${'|'.repeat(500)}\n${'|-'.repeat(500)}|\n`.repeat(5),
    ' '.repeat(20_000),
    '\n'.repeat(20_000),
    '\\'.repeat(20_000),
    'a@'.repeat(10_000),
    'http://'.repeat(3000),
    '~'.repeat(20_000),
    '&#x0;'.repeat(4000),
    '[a](b'.repeat(4000)
  ]
  for (const text of deep) {
    const before = process.cpuUsage()
    const nodes = readMarkdown(text)
    const { user } = process.cpuUsage(before)
    t.ok(nodes === undefined || Array.isArray(nodes), text.slice(0, 10))
    // Far above what each takes, far below what a growth with the square would take.
    t.ok(user < 1_000_000, `${JSON.stringify(text.slice(0, 8))}, ${text.length} characters: ${user / 1000} ms`)
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

t.test('only images and sounds of known types are media', async t => {
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
