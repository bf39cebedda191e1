/**
 * Serves the docs page: a guide with runnable examples, followed by the API reference, which swagger-ui renders from
 * the OpenAPI document. The page loads nothing from other servers.
 */
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { App } from '../lib/app.ts'
import { Content, type Reply } from '../lib/http/route.ts'
import { VERSION } from '../lib/version.ts'

const OWN = new URL('plugins/docs/', import.meta.resolve('#package.json'))
const STYLES = new URL('styles/', OWN)
/** Made by `npm run screenshots`. */
const PICTURES = new URL('pictures/', OWN)
/** Files from which an operator starts a deployment. */
const DEPLOYMENT = new URL('deployment/', OWN)
/** Complete applications, each run by a test. Applications named in a chapter are shown and can be downloaded. */
const EXAMPLES = new URL('examples/', OWN)
const VIEWER = new URL('.', import.meta.resolve('swagger-ui-dist/package.json'))

const CHAPTERS = [
  ...['guide.html', 'clients.html', 'client-python.html', 'applications.html'],
  ...['dashboard.html', 'operating.html', 'upkeep.html']
]

const JAVASCRIPT = 'text/javascript; charset=utf-8'
const CSS = 'text/css; charset=utf-8'
const TEXT = 'text/plain; charset=utf-8'
/** Maps a file extension to the language that the page highlights. */
const LANGUAGES = { '.ts': 'ts', '.py': 'python' } as const
const ASSETS: readonly { readonly name: string; readonly folder: URL; readonly type: string }[] = [
  ...['docs.css', 'tables.css', 'reference.css'].map(name => ({ name, folder: STYLES, type: CSS })),
  { name: 'docs.js', folder: OWN, type: JAVASCRIPT },
  { name: 'icon.svg', folder: OWN, type: 'image/svg+xml' },
  ...['list', 'overview', 'failure', 'conversation', 'compare', 'phone'].map(name => ({
    name: `${name}.webp`,
    folder: PICTURES,
    type: 'image/webp'
  })),
  { name: 'grafana-dashboard.json', folder: OWN, type: 'application/json' },
  { name: 'alert-rules.yml', folder: OWN, type: TEXT },
  ...['spoor.service', 'nginx.conf', 'Caddyfile', 'kubernetes.yaml'].map(name => ({
    name,
    folder: DEPLOYMENT,
    type: TEXT
  })),
  { name: 'swagger-ui.css', folder: VIEWER, type: CSS },
  { name: 'swagger-ui-bundle.js', folder: VIEWER, type: JAVASCRIPT }
]

const HEADERS = {
  // The viewer's styles embed images as data URLs.
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer'
}

/** A file of the page. Browsers must not cache the file, so the server keeps a compressed copy. */
interface Asset {
  readonly plain: Buffer
  readonly compressed: Buffer
}

const compress = promisify<Uint8Array, Buffer>(gzip)

export default async function docs(app: App) {
  const texts = await Promise.all(CHAPTERS.map(name => readFile(new URL(`chapters/${name}`, OWN), 'utf8')))
  const chapters = texts.join('')
  const examples = new Map<string, string>()
  for (const [, names = ''] of chapters.matchAll(EXAMPLE)) {
    for (const name of names.split(' ')) examples.set(name, await readFile(new URL(name, EXAMPLES), 'utf8'))
  }
  const guide = chapters.replace(EXAMPLE, (_, names: string) => exampleFigure(names.split(' '), examples))
  const page = (await readFile(new URL('page.html', OWN), 'utf8')).replace('{{guide}}', () => guide)
  app.route({
    method: 'GET',
    path: '/docs',
    access: 'public',
    summary: 'Read how to use the API',
    replies: {},
    handler({ baseUrl }) {
      const values = { baseUrl, keyPrefix: app.config.keyPrefix, version: VERSION }
      return { headers: HEADERS, body: new Content('text/html; charset=utf-8', fillIn(page, values)) }
    }
  })

  const files = [...examples.keys()].map(name => ({ name: `examples/${name}`, folder: OWN, type: TEXT }))
  for (const { name, folder, type } of [...ASSETS, ...files]) {
    let asset: Promise<Asset> | undefined
    app.route({
      method: 'GET',
      path: `/docs/${name}`,
      access: 'public',
      summary: 'Fetch a part of the page',
      replies: {},
      async handler({ headers }): Promise<Reply> {
        asset ??= loadAsset(new URL(name, folder))
        const { plain, compressed } = await asset
        const own = { ...HEADERS, Vary: 'Accept-Encoding' }
        if (!acceptsGzip(headers['accept-encoding'])) return { headers: own, body: new Content(type, plain) }
        return { headers: { ...own, 'Content-Encoding': 'gzip' }, body: new Content(type, compressed) }
      }
    })
  }
}

async function loadAsset(file: URL): Promise<Asset> {
  const plain = await readFile(file)
  return { plain, compressed: await compress(plain) }
}

/** Matches one application's files in several languages: `{{example: server.ts server.py}}` in a chapter. */
const EXAMPLE = /\{\{example: ([\w. -]+)\}\}/g

function exampleFigure(names: readonly string[], sources: ReadonlyMap<string, string>): string {
  const blocks = names.map(name => {
    const language = LANGUAGES[extname(name) as keyof typeof LANGUAGES]
    const code = escapeHtml(sources.get(name)!.trimEnd())
    return `<pre><code data-language="${language}">${code}</code></pre>`
  })
  const links = names.map(name => `<a href="docs/examples/${name}" download>${name}</a>`)
  return `<figure class="file">${blocks.join('\n')}</figure>\n    <p class="files">${links.join(', ')}</p>`
}

function fillIn(page: string, values: Readonly<Record<string, string>>): string {
  return page.replace(/\{\{(\w+)\}\}/g, (_, name: string) => escapeHtml(values[name] ?? ''))
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, character => ENTITIES[character]!)
}

function acceptsGzip(header: string | string[] | undefined): boolean {
  return /(?:^|[,\s])gzip(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(String(header ?? ''))
}
