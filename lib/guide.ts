/**
 * Turns the chapters into pages: puts each section on its page, gives every heading an anchor, points links at the
 * right page, and lists the passages that the search box looks through. Chapters are written as one document: their
 * links to sections are `#id`, and their other links are relative to the server's root.
 */
export interface GuidePage {
  /** The last part of the page's address below `/docs`; empty for `/docs` itself. */
  readonly name: string
  readonly title: string
  /** The ids of the page's sections, in order. */
  readonly sections: readonly string[]
}

export interface GuidePart {
  readonly title: string
  readonly pages: readonly GuidePage[]
}

/** The page that shows the API reference below its sections. */
export const REFERENCE = 'reference'

/** The guide's pages, in reading order. */
export const PARTS: readonly GuidePart[] = [
  {
    title: 'Start',
    pages: [
      { name: '', title: 'First trace', sections: ['start', 'choose', 'key'] },
      { name: 'install', title: 'Install', sections: ['install'] },
      { name: 'compare', title: 'How it compares', sections: ['compare'] },
      { name: 'questions', title: 'Common questions', sections: ['questions'] }
    ]
  },
  {
    title: 'Record',
    pages: [
      { name: 'record', title: 'Record over HTTP', sections: ['record', 'stream', 'metadata'] },
      { name: 'opentelemetry', title: 'OpenTelemetry', sections: ['opentelemetry', 'libraries'] },
      { name: 'coding-agents', title: 'Coding agents', sections: ['coding-agents', 'transcripts'] },
      { name: 'clients', title: 'Your own code', sections: ['client'] },
      { name: 'python', title: 'Python', sections: ['client-python'] },
      { name: 'applications', title: 'Complete applications', sections: ['applications'] }
    ]
  },
  { title: 'View', pages: [{ name: 'dashboard', title: 'The dashboard', sections: ['dashboard'] }] },
  {
    title: 'Ask',
    pages: [
      { name: 'find', title: 'Find traces', sections: ['list', 'search', 'failures'] },
      { name: 'sums', title: 'Totals and sync', sections: ['usage', 'sync'] },
      { name: 'scores', title: 'Scores and evaluation', sections: ['score', 'evaluate'] },
      { name: 'terminal', title: 'In the terminal', sections: ['terminal'] },
      { name: 'mcp', title: 'From an agent', sections: ['mcp'] },
      { name: 'delete', title: 'Delete', sections: ['delete'] }
    ]
  },
  {
    title: 'Operate',
    pages: [
      { name: 'operate', title: 'Deploy and secure', sections: ['operate'] },
      { name: 'security', title: 'Security', sections: ['security'] },
      { name: 'upkeep', title: 'Back up, prune and grow', sections: ['upkeep'] }
    ]
  },
  {
    title: 'Reference',
    pages: [
      { name: 'settings', title: 'Settings', sections: ['settings'] },
      { name: 'commands', title: 'Commands', sections: ['commands'] },
      { name: 'errors', title: 'Errors', sections: ['errors'] },
      { name: REFERENCE, title: 'Operations', sections: [] }
    ]
  }
]

export const PAGES: readonly GuidePage[] = PARTS.flatMap(({ pages }) => pages)

export interface GuideFile {
  readonly page: GuidePage
  /** The page's headings and texts. */
  readonly html: string
  /** The table of contents, with the page's own headings below its line. */
  readonly contents: string
  /** Links to the pages before and after this one. */
  readonly neighbours: string
}

/** The text below one heading. */
export interface Passage {
  /** The address, relative to the server's root. */
  readonly address: string
  readonly page: string
  readonly heading: string
  readonly text: string
}

export interface Guide {
  readonly files: readonly GuideFile[]
  readonly passages: readonly Passage[]
}

interface Heading {
  readonly level: number
  /** The heading's own id, or its section's if it opens the section. Empty for the title of a page with sections. */
  readonly id: string
  readonly html: string
  readonly at: number
  readonly end: number
}

const SECTION = /<section id="([\w-]+)">([\s\S]*?)<\/section>/g
const HEADING = /<h([1-4])(?: id="([\w-]+)")?>([\s\S]*?)<\/h\1>/g
const LINK = /\b(href|src)="([^"]*)"/g
/** Matches addresses that need no change: of other servers, of mail, and absolute paths. */
const FIXED = /^(?:[a-z]+:|\/)/i

/** Renders the guide. Throws an Error if a page has no section, a section is on no page, or a link leads nowhere. */
export function renderGuide(chapters: string): Guide {
  const sections = new Map([...chapters.matchAll(SECTION)].map(([, id, html]) => [id!, html!]))
  const shown = new Set(PAGES.flatMap(page => page.sections))
  const lost = [...sections.keys()].filter(id => !shown.has(id))
  if (lost.length > 0) throw new Error(`No page of the guide contains the sections ${lost.join(', ')}`)
  const drafts = PAGES.map(page => ({ page, html: withAnchors(page, bodyOf(page, sections)) }))
  const homes = new Map(drafts.flatMap(({ page, html }) => idsOf(html).map(id => [id, page] as const)))
  return {
    files: drafts.map(({ page, html }) => ({
      page,
      html: withLinks(html, page, homes),
      contents: withLinks(contentsOf(page, headingsOf(html)), page, homes),
      neighbours: withLinks(neighboursOf(page), page, homes)
    })),
    passages: drafts.flatMap(({ page, html }) => passagesOf(page, html))
  }
}

/** The address of a page, relative to the server's root. */
export function guideAddress(page: GuidePage): string {
  return page.name === '' ? 'docs' : `docs/${page.name}`
}

/**
 * Makes the links of a page, which are relative to the server's root, relative to the page's own address. With `homes`,
 * which maps ids to pages, `#id` leads to the page that has the id. Without, `#id` is on the page itself.
 */
export function withLinks(html: string, page: GuidePage, homes?: ReadonlyMap<string, GuidePage>): string {
  return html.replace(LINK, (_, attribute: string, address: string) => {
    if (FIXED.test(address)) return `${attribute}="${address}"`
    const own = address.startsWith('#') && homes ? addressOfId(address.slice(1), page, homes) : address
    if (own.startsWith('#')) return `${attribute}="${own}"`
    return `${attribute}="${page.name === '' ? own : `../${own}`}"`
  })
}

function addressOfId(id: string, page: GuidePage, homes: ReadonlyMap<string, GuidePage>): string {
  const home = homes.get(id)
  if (home === undefined) throw new Error(`No heading of the guide has the id ${id}`)
  return home === page ? `#${id}` : `${guideAddress(home)}#${id}`
}

/** Returns the page's sections below a heading of level 1. The heading of a page's only section is the page's own. */
function bodyOf(page: GuidePage, sections: ReadonlyMap<string, string>): string {
  const parts = page.sections.map(id => {
    const html = sections.get(id)
    if (html === undefined) throw new Error(`The guide has no section ${id}`)
    return { id, html }
  })
  const [only] = parts
  const wrapped = parts.map(({ id, html }) => `<section id="${id}">${html}</section>`).join('\n')
  if (parts.length === 1 && only !== undefined) {
    return wrapped.replace(/<(\/?)h([2-4])\b/g, (_, end: string, level: string) => `<${end}h${Number(level) - 1}`)
  }
  return `<h1>${page.title}</h1>\n${wrapped}`
}

/** Gives each heading below the page's title an id: the section's id if the heading opens the section. */
function withAnchors(page: GuidePage, html: string): string {
  const taken = new Set(page.sections)
  return html.replace(HEADING, (whole, level: string, id: string | undefined, text: string, at: number) => {
    const opens = /<section id="[\w-]+">\s*$/.test(html.slice(0, at))
    if (level === '1' || opens || id !== undefined) return whole
    const slug = slugOf(text)
    let name = slug
    for (let i = 2; taken.has(name); i++) name = `${slug}-${i}`
    taken.add(name)
    return `<h${level} id="${name}">${text}</h${level}>`
  })
}

function slugOf(heading: string): string {
  return plainText(heading)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
}

function idsOf(html: string): string[] {
  return [...html.matchAll(/\bid="([\w-]+)"/g)].map(([, id]) => id!)
}

function headingsOf(html: string): Heading[] {
  return [...html.matchAll(HEADING)].map(match => {
    const [whole, level, id, text] = match
    const opened = /<section id="([\w-]+)">\s*$/.exec(html.slice(0, match.index))?.[1]
    return {
      level: Number(level),
      id: id ?? opened ?? '',
      html: text!,
      at: match.index,
      end: match.index + whole.length
    }
  })
}

/** Lists all pages by part. Below the shown page, it lists the headings of level 2. */
function contentsOf(shown: GuidePage, headings: readonly Heading[]): string {
  const inner = headings.filter(({ level, id }) => level === 2 && id !== '')
  const list = inner.map(({ id, html }) => `<li><a href="#${id}">${html}</a></li>`).join('\n')
  const lines = PARTS.map(({ title, pages }) => {
    const items = pages.map(page => {
      if (page !== shown) return `<li><a href="${guideAddress(page)}">${page.title}</a></li>`
      const below = list === '' ? '' : `\n<ol>${list}</ol>`
      return `<li><a href="${guideAddress(page)}" aria-current="page">${page.title}</a>${below}</li>`
    })
    return `<p>${title}</p>\n<ol>\n${items.join('\n')}\n</ol>`
  })
  return lines.join('\n')
}

function neighboursOf(page: GuidePage): string {
  const place = PAGES.indexOf(page)
  const links = [
    ['prev', PAGES[place - 1]],
    ['next', PAGES[place + 1]]
  ] as const
  const found = links.map(([rel, to]) => to && `<a rel="${rel}" href="${guideAddress(to)}">${to.title}</a>`)
  return `<nav class="neighbours" aria-label="Neighbouring pages">${found.filter(Boolean).join('')}</nav>`
}

function passagesOf(page: GuidePage, html: string): Passage[] {
  const headings = headingsOf(html)
  return headings.map(({ id, html: heading, end }, i) => ({
    address: id === '' ? guideAddress(page) : `${guideAddress(page)}#${id}`,
    page: page.title,
    heading: plainText(heading),
    text: plainText(html.slice(end, headings[i + 1]?.at))
  }))
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', nbsp: ' ' }

function plainText(html: string): string {
  return html
    .replace(/<\/?(?:code|em|strong|a|kbd|span)\b[^>]*>/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&(\w+);/g, (whole, name: string) => ENTITIES[name] ?? whole)
    .replace(/\s+/g, ' ')
    .trim()
}
