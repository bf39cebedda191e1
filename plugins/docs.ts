/**
 * The docs page: a guide with examples that run as they stand, and below it the reference, which swagger-ui renders
 * from the OpenAPI document. The page needs nothing from other servers.
 */
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { App } from '../lib/app.ts'
import { Content, type Reply } from '../lib/http/route.ts'
import { VERSION } from '../lib/version.ts'

const OWN = new URL('plugins/docs/', import.meta.resolve('#package.json'))
/** Made by `npm run screenshots`. */
const PICTURES = new URL('pictures/', OWN)
/** What somebody who runs a server begins with. */
const DEPLOYMENT = new URL('deployment/', OWN)
const VIEWER = new URL('.', import.meta.resolve('swagger-ui-dist/package.json'))

/** What the guide is put together from. */
const CHAPTERS = ['guide.html', 'clients.html', 'client-python.html', 'operating.html', 'upkeep.html', 'dashboard.html']

const JAVASCRIPT = 'text/javascript; charset=utf-8'
const CSS = 'text/css; charset=utf-8'
const TEXT = 'text/plain; charset=utf-8'
const ASSETS: readonly { readonly name: string; readonly folder: URL; readonly type: string }[] = [
  { name: 'docs.css', folder: OWN, type: CSS },
  { name: 'reference.css', folder: OWN, type: CSS },
  { name: 'docs.js', folder: OWN, type: JAVASCRIPT },
  { name: 'icon.svg', folder: OWN, type: 'image/svg+xml' },
  ...['list', 'failure', 'conversation', 'phone'].map(name => ({
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
  // The viewer's styles have their images as data.
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer'
}

/** A file of the page. It may not be cached, so a large one is at least sent compressed. */
interface Asset {
  readonly plain: Buffer
  readonly compressed: Buffer
}

const compress = promisify<Uint8Array, Buffer>(gzip)

export default async function docs(app: App) {
  const guide = (await Promise.all(CHAPTERS.map(name => readFile(new URL(name, OWN), 'utf8')))).join('')
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

  for (const { name, folder, type } of ASSETS) {
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
