/**
 * Serves the page: one HTML shell without data for every address under /app, and the files built from
 * plugins/dashboard/app. File names contain a content hash, so browsers may cache the files forever.
 */

import { readdir, readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import Type from 'typebox'
import type { App } from '../../lib/app.ts'
import { DASHBOARD_ERRORS, ERROR_CODES, Refusal } from '../../lib/errors.ts'
import { found } from '../../lib/http/refuse.ts'
import { Content, type Reply } from '../../lib/http/route.ts'
import { closed } from '../../lib/schema/object.ts'
import type { AssetManifest } from './build.ts'
import { pageRoute } from './page-routes.ts'
import { contentReply } from './replies.ts'

const BUILT = new URL('build/dashboard/', import.meta.resolve('#package.json'))
const MANIFEST = 'manifest.json'

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8'
}
const HTML = 'text/html; charset=utf-8'
const FOR_EVER = 'public, max-age=31536000, immutable'

export default async function pages(app: App): Promise<void> {
  const { baseUrl } = app.config
  const base = baseUrl === undefined ? '' : new URL(baseUrl).pathname.replace(/\/+$/, '')
  const files = new Set(await readdir(BUILT).catch(() => []))
  const shell = files.has(MANIFEST) ? shellOf(base, await readManifest()) : NOT_BUILT

  app.route({
    method: 'GET',
    path: '/',
    access: 'public',
    summary: 'Go to the dashboard',
    replies: {},
    handler({ headers }): Reply {
      if (!isBrowser(headers.accept)) throw new Refusal('not_found', 'There is nothing at this address.')
      return { status: 302, headers: { Location: `${baseUrl ?? ''}/app`, Vary: 'Accept' } }
    }
  })

  for (const path of ['/app', '/app/*']) {
    pageRoute(app, {
      method: 'GET',
      path,
      access: 'public',
      replies: { 200: contentReply(HTML) },
      handler: () => ({ body: new Content(HTML, shell) })
    })
  }

  pageRoute(app, {
    method: 'GET',
    path: '/app/api/*',
    access: 'public',
    replies: { 404: PageError },
    handler() {
      throw new Refusal('not_found', 'There is nothing at this address.')
    }
  })

  // An upgrade replaces the files while the server runs, and open pages still request the previous ones.
  const read = async (name: string) => [name, await readFile(new URL(name, BUILT))] as const
  const assets = new Map(await Promise.all([...files].map(read)))
  pageRoute(app, {
    method: 'GET',
    path: '/app/assets/:file',
    access: 'public',
    replies: { 200: Type.Union(Object.values(TYPES).map(contentReply)) },
    handler({ params, headers }): Reply {
      const { file = '' } = params
      const type = found(files.has(file) && TYPES[extname(file)], 'file')
      const isPacked = files.has(`${file}.br`) && acceptsBrotli(headers['accept-encoding'])
      const name = isPacked ? `${file}.br` : file
      const own = { 'Cache-Control': FOR_EVER, Vary: 'Accept-Encoding' }
      return {
        headers: isPacked ? { ...own, 'Content-Encoding': 'br' } : own,
        body: new Content(type, assets.get(name)!)
      }
    }
  })
}

async function readManifest(): Promise<AssetManifest> {
  return JSON.parse(await readFile(new URL(MANIFEST, BUILT), 'utf8'))
}

/** `base` is the path of BASE_URL, in which only `&` needs HTML escaping. */
function shellOf(base: string, { app, css, preload }: AssetManifest): string {
  const preloads = preload.map(name => `<link rel="modulepreload" href="assets/${name}">\n`).join('')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>spoor</title>
<base href="${base.replaceAll('&', '&amp;')}/app/">
<link rel="icon" href="../docs/icon.svg">
<link rel="preload" as="style" href="assets/${css}">
${preloads}<script type="module" src="assets/${app}"></script>
</head>
<body>
<div id="app">${SKELETON}</div>
<link rel="stylesheet" href="assets/${css}">
<noscript>The dashboard needs JavaScript, which comes only from this server.</noscript>
</body>
</html>
`
}

/**
 * The outlines of a page, shown until the page's own code draws it. The style sheet follows the outlines in the
 * document, so that browsers draw them without waiting for it. The CSP allows no styles in the page itself.
 */
const SKELETON = `<p role="status">Loading spoor…</p>
<svg width="100%" height="85vh" fill="currentColor" fill-opacity="0.09" aria-hidden="true">
<rect width="40%" height="26" rx="4" />
${[64, 112, 160, 208, 256, 304].map(y => `<rect y="${y}" width="100%" height="32" rx="4" />`).join('\n')}
</svg>`

const NOT_BUILT = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>spoor</title></head>
<body>
<h1>The dashboard was not built</h1>
<p>Its files are missing on the server. Run <code>npm run build</code> and start the server again.</p>
</body>
</html>
`

const isBrowser = (accept: string | string[] | undefined): boolean =>
  /(?:^|[,\s])text\/html\b/i.test(String(accept ?? ''))

function acceptsBrotli(header: string | string[] | undefined): boolean {
  return /(?:^|[,\s])br(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(String(header ?? ''))
}

export const PageError = closed({
  error: closed({
    code: Type.Enum([...ERROR_CODES, ...(Object.keys(DASHBOARD_ERRORS) as (keyof typeof DASHBOARD_ERRORS)[])]),
    message: Type.String(),
    requestId: Type.String()
  })
})
