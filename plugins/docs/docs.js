/** Adds tabs and copy buttons to the examples, and renders the reference below the guide. */

const LANGUAGES = { sh: 'curl', ts: 'TypeScript', python: 'Python' }
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
  bar.setAttribute('role', 'tablist')
  for (const language of languagesOf(figure)) {
    const tab = button(LANGUAGES[language], () => choose(language, tab))
    tab.setAttribute('role', 'tab')
    tab.dataset.language = language
    bar.append(tab)
  }
  bar.append(...copyButton(() => figure.querySelector('pre:not([hidden])').textContent))
  figure.prepend(bar)
}
for (const code of document.querySelectorAll('code[data-language]')) highlight(code)
// Later calls override earlier calls, so the reader's choice precedes curl, which precedes TypeScript.
const remembered = localStorage.getItem(REMEMBERED)
for (const language of ['python', 'ts', 'sh', remembered]) if (Object.hasOwn(LANGUAGES, language)) choose(language)

const links = new Map([...document.querySelectorAll('nav a[href^="#"]')].map(link => [link.hash.slice(1), link]))
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

const answer = await fetch('api/v1/openapi.json')
const spec = await answer.json()
// Requests go to the host from which the page was loaded.
spec.servers = [{ url: new URL('.', location.href).href.replace(/\/$/, '') }]
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
