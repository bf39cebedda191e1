import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { guideAddress, PAGES, renderGuide, withLinks } from '../../lib/guide.ts'

const CHAPTERS = 'plugins/docs/chapters'
const chapters = readdirSync(CHAPTERS)
  .map(name => readFileSync(`${CHAPTERS}/${name}`, 'utf8'))
  .join('')

t.test('each section is on one page, below one heading of level 1', t => {
  const { files } = renderGuide(chapters)
  const shown = files.flatMap(({ html }) => [...html.matchAll(/<section id="([\w-]+)">/g)].map(([, id]) => id))
  const written = [...chapters.matchAll(/<section id="([\w-]+)">/g)].map(([, id]) => id)
  t.same([...shown].sort(), [...written].sort())
  for (const { page, html } of files) {
    if (page.sections.length > 0) t.equal(html.match(/<h1\b/g)?.length, 1, page.title)
    const ids = [...html.matchAll(/ id="([\w-]+)"/g)].map(([, id]) => id)
    t.equal(new Set(ids).size, ids.length, `${page.title}: ids are unique`)
  }
  t.end()
})

t.test('a section without a page, a page without its section, and a link without a target are errors', t => {
  t.throws(
    () => renderGuide(`${chapters}<section id="stray"><h2>Stray</h2></section>`),
    /No page of the guide contains the sections stray/
  )
  t.throws(() => renderGuide(chapters.replace('<section id="stream">', '<section>')), /has no section stream/)
  const [first] = PAGES
  t.throws(() => withLinks('<a href="#nowhere">', first!, new Map()), /No heading of the guide has the id nowhere/)
  t.end()
})

t.test('links are relative to the page', t => {
  const [start, install] = PAGES
  const homes = new Map([['here', install!]])
  t.equal(withLinks('<a href="#here">', install!, homes), '<a href="#here">')
  t.equal(withLinks('<a href="#here">', start!, homes), '<a href="docs/install#here">')
  t.equal(withLinks('<img src="docs/list.webp">', install!), '<img src="../docs/list.webp">')
  t.equal(withLinks('<a href="https://example.com/">', install!), '<a href="https://example.com/">')
  t.equal(guideAddress(start!), 'docs')
  t.end()
})

t.test('passages have the text below a heading, without markup', t => {
  const { passages } = renderGuide(chapters)
  const errors = passages.find(({ address }) => address === 'docs/errors#errors')
  t.match(errors, { page: 'Errors', heading: 'Handle errors', text: /Fix the request before you send it again\./ })
  for (const { text, heading, address } of passages) {
    t.notMatch(text, /<\/[a-z]|&(?:amp|lt|gt|quot);|\s\s/, address)
    t.not(heading, '', address)
  }
  t.end()
})
