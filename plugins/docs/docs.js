/** Adds tabs and copy buttons to the examples, searches the guide, and renders the reference on its page. */

/** The server's root: this script is in a folder below it. */
const ROOT = new URL('..', import.meta.url)

const LANGUAGES = {
  sh: 'curl',
  ts: 'TypeScript',
  python: 'Python',
  go: 'Go',
  java: 'Java',
  csharp: 'C#',
  ruby: 'Ruby',
  php: 'PHP'
}
const REMEMBERED = 'spoor-language'

const TOKENS = {
  sh: /(?<comment>^#.*$)|(?<keyword>\bcurl\b|(?<=\s)-\w\b|"[^"\n]*"(?=:))|(?<string>"[^"\n]*")|(?<number>\$\w+)/gm,
  ts: /(?<comment>\/\/.*$|\/\*[\s\S]*?\*\/)|(?<string>'[^'\n]*'|`[^`]*`)|(?<keyword>\b(?:const|let|import|export|from|await|async|function|interface|type|return|for|of|do|while|if|else|as|new|throw|try|catch|null|true|false)\b)|(?<number>\b\d[\d.]*\b)/gm,
  python:
    /(?<comment>#.*$)|(?<string>"""[\s\S]*?"""|"(?:[^"\\\n]|\\.)*")|(?<keyword>\b(?:import|from|as|with|async|await|def|class|return|yield|for|in|while|if|elif|else|try|except|raise|not|and|or|is|lambda|None|True|False)\b)|(?<number>@[\w.]+|\b\d[\d.]*\b)/gm,
  json: /(?<keyword>"[^"\n]*"(?=:))|(?<string>"[^"\n]*")|(?<number>\b(?:true|false|null)\b|-?\b\d[\d.]*\b)/g
}

/** Wraps the tokens that the language's expression matches. */
function highlight(code) {
  const tokens = TOKENS[code.dataset.language]
  if (tokens === undefined) return
  const text = code.textContent
  const parts = []
  let end = 0
  for (const match of text.matchAll(tokens)) {
    const [kind] = Object.entries(match.groups).find(([, value]) => value !== undefined)
    const part = document.createElement('span')
    part.className = kind
    part.textContent = match[0]
    parts.push(text.slice(end, match.index), part)
    end = match.index + match[0].length
  }
  code.replaceChildren(...parts, text.slice(end))
}

function button(label, onClick) {
  const element = document.createElement('button')
  element.type = 'button'
  element.textContent = label
  element.addEventListener('click', onClick)
  return element
}

/** Returns a copy button, or nothing outside a secure context (HTTPS or localhost). */
function copyButton(readText) {
  if (navigator.clipboard === undefined) return []
  const copy = button('Copy', async () => {
    await navigator.clipboard.writeText(readText())
    copy.textContent = 'Copied'
    setTimeout(() => {
      copy.textContent = 'Copy'
    }, 1500)
  })
  copy.className = 'copy'
  return [copy]
}

const figures = [...document.querySelectorAll('figure')]

const languagesOf = figure => [...figure.querySelectorAll('code')].map(code => code.dataset.language)

/** Switches every example that has this language. The clicked tab keeps its position on the screen. */
function choose(language, clicked) {
  const before = clicked?.getBoundingClientRect().top
  for (const figure of figures.filter(each => languagesOf(each).includes(language))) {
    for (const code of figure.querySelectorAll('code')) {
      code.parentElement.hidden = code.dataset.language !== language
    }
    for (const tab of figure.querySelectorAll('[role=tab]')) {
      tab.setAttribute('aria-selected', String(tab.dataset.language === language))
    }
  }
  if (clicked === undefined) return
  window.scrollBy(0, clicked.getBoundingClientRect().top - before)
  localStorage.setItem(REMEMBERED, language)
}

for (const figure of figures) {
  const bar = document.createElement('figcaption')
  const tabs = document.createElement('div')
  tabs.setAttribute('role', 'tablist')
  for (const language of languagesOf(figure)) {
    const tab = button(LANGUAGES[language], () => choose(language, tab))
    tab.setAttribute('role', 'tab')
    tab.dataset.language = language
    tabs.append(tab)
  }
  bar.append(tabs, ...copyButton(() => figure.querySelector('pre:not([hidden])').textContent))
  figure.prepend(bar)
}
for (const code of document.querySelectorAll('code[data-language]')) highlight(code)
// Examples scroll sideways, which the keyboard can do only if they can have the focus.
for (const example of document.querySelectorAll('#guide pre, #guide .wide')) example.tabIndex = 0
// Later calls override earlier calls, so the reader's choice precedes curl, which precedes TypeScript and the others.
const remembered = localStorage.getItem(REMEMBERED)
for (const language of ['go', 'python', 'ts', 'sh', remembered])
  if (Object.hasOwn(LANGUAGES, language)) choose(language)

const links = new Map([...document.querySelectorAll('.side nav a[href^="#"]')].map(link => [link.hash.slice(1), link]))
const sections = [...links.keys()].map(id => document.getElementById(id))

/** Highlights the current section in the table of contents. */
function markPlace() {
  const current = sections.findLast(section => section.getBoundingClientRect().top < innerHeight / 3)
  for (const [id, link] of links) {
    if (id === current?.id) link.setAttribute('aria-current', 'true')
    else link.removeAttribute('aria-current')
  }
}
addEventListener('scroll', markPlace, { passive: true })
markPlace()

const dark = matchMedia('(prefers-color-scheme: dark)')
const followTheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', followTheme)
followTheme()

// On a narrow screen the contents come first and would fill it.
if (matchMedia('(max-width: 60rem)').matches) document.querySelector('.contents').open = false

let passages
const readPassages = () => {
  passages ??= fetch(new URL('docs/passages.json', ROOT)).then(answer => answer.json())
  return passages
}

/** Earlier versions had one page, so links to its sections lead to the pages that have them now. */
async function followOldLink() {
  const id = location.hash.slice(1)
  if (id === '' || document.getElementById(id) !== null) return
  if (id === 'reference' || id.startsWith('/')) {
    if (document.getElementById('operations') === null) location.replace(new URL(`docs/reference#${id}`, ROOT))
    return
  }
  const found = (await readPassages()).find(({ address }) => address.endsWith(`#${id}`))
  if (found !== undefined) location.replace(new URL(found.address, ROOT))
}
followOldLink()

/** Maximum number of passages that a search shows, and characters of text around a found word. */
const MOST_FOUND = 8
const AROUND = 60

const normal = text => text.normalize('NFKC').toLowerCase()

/** Returns the passages that contain every word, those with the most words in their headings first. */
function findPassages(all, query) {
  const words = normal(query).split(/\s+/).filter(Boolean)
  if (words.length === 0) return []
  return all
    .map(passage => {
      const [heading, text] = [normal(`${passage.page} ${passage.heading}`), normal(passage.text)]
      const rank = words.map(word => (heading.includes(word) ? 2 : text.includes(word) ? 1 : 0))
      return { passage, word: words[0], rank: rank.includes(0) ? 0 : rank.reduce((sum, each) => sum + each, 0) }
    })
    .filter(({ rank }) => rank > 0)
    .sort((a, b) => b.rank - a.rank)
    .slice(0, MOST_FOUND)
}

function foundLine({ passage, word }) {
  const at = Math.max(0, normal(passage.text).indexOf(word) - AROUND)
  const link = document.createElement('a')
  link.href = new URL(passage.address, ROOT)
  const place = document.createElement('small')
  place.textContent = passage.page === passage.heading ? '' : passage.page
  const excerpt = document.createElement('span')
  excerpt.textContent = `${at > 0 ? '…' : ''}${passage.text.slice(at, at + 2 * AROUND)}…`
  link.append(passage.heading, ' ', place, excerpt)
  const line = document.createElement('li')
  line.append(link)
  return line
}

const search = document.querySelector('.search')
const field = search.querySelector('input')
const found = search.querySelector('.found')
const none = search.querySelector('.none')

async function showFound() {
  const query = field.value.trim()
  const lines = query === '' ? [] : findPassages(await readPassages(), query)
  // A later search has answered already.
  if (query !== field.value.trim()) return
  found.replaceChildren(...lines.map(foundLine))
  found.hidden = lines.length === 0
  none.textContent = query === '' || lines.length > 0 ? '' : 'Nothing in the guide matches.'
}

/** Moves the focus between the field and the passages found. */
function step(event) {
  const places = [field, ...found.querySelectorAll('a')]
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (event.key === 'Escape') {
    field.value = ''
    showFound()
    field.focus()
  } else if (event.key === 'Enter' && document.activeElement === field) places[1]?.click()
  else if (by !== undefined) places[places.indexOf(document.activeElement) + by]?.focus()
  else return
  event.preventDefault()
}

search.hidden = false
field.addEventListener('input', showFound)
search.addEventListener('keydown', step)
addEventListener('keydown', event => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return
  if (event.target.closest?.('input, textarea, select') != null) return
  event.preventDefault()
  field.focus()
})

if (document.getElementById('operations') !== null) {
  const answer = await fetch(new URL('api/v1/openapi.json', ROOT))
  const spec = await answer.json()
  // Requests go to the host from which the page was loaded.
  spec.servers = [{ url: ROOT.href.replace(/\/$/, '') }]
  globalThis.SwaggerUIBundle({
    spec,
    dom_id: '#operations',
    deepLinking: true,
    docExpansion: 'list',
    defaultModelsExpandDepth: 0,
    defaultModelExpandDepth: 4,
    displayRequestDuration: true,
    validatorUrl: null
  })
}
