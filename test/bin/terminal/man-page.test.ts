import t from 'tap'
import { command } from '../../../bin/command.ts'
import { commands } from '../../../bin/commands/index.ts'
import { manPage } from '../../../bin/terminal/man-page.ts'

t.test('the manual page has every command with its flags and examples', t => {
  const page = manPage(commands, '1.2.3')
  const sections = page.split('.SS ').slice(1)
  t.same(
    sections.map(section => section.slice(0, section.indexOf('\n')).replaceAll('\\-', '-')),
    Object.keys(commands)
  )
  for (const [i, [name, { usage }]] of Object.entries(commands).entries()) {
    const text = sections[i]!.replaceAll('\\-', '-')
    for (const flag of Object.keys(usage.flags))
      t.match(text, new RegExp(`^\\.B --${flag}\\b`, 'm'), `${name} --${flag}`)
    t.ok(text.includes(`    spoor ${usage.examples[0]!.replace(/[^\0-\x7f]/g, '')}`.slice(0, 20)), name)
  }
  t.match(page, /\.SH EXIT STATUS\n\.TP\n\.B 0\n/)
  t.match(page, /\bDATABASE_URL\b/)
  t.notMatch(page, /[^\0-\x7f]/, 'only ASCII')
  const requests = new Set([...page.matchAll(/^\.(\w+)/gm)].map(([, request]) => request))
  t.same([...requests].sort(), ['B', 'I', 'PP', 'RI', 'SH', 'SS', 'TH', 'TP', 'fi', 'nf'])
  t.end()
})

t.test("a command's text is never interpreted as a roff request", t => {
  const odd = command({
    summary: 'Do \\fBthis',
    details: ".SH NOT A HEADING\n'nor this\nprices — in €",
    examples: ['odd \\n'],
    async run() {}
  })
  const page = manPage({ odd }, '1')
  t.match(page, 'Do \\efBthis.')
  t.match(page, "\\&.SH NOT A HEADING\n\\&'nor this\nprices \\[u2014] in \\[u20AC]")
  t.match(page, '    spoor odd \\en')
  t.end()
})
