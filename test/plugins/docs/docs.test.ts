import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { request } from 'undici'
import { guideAddress, PAGES } from '../../../lib/guide.ts'
import { ingestBody } from '../../fixtures/bodies/bodies.ts'
import { testService } from '../../fixtures/service/service.ts'
import { until } from '../../fixtures/until.ts'
import { hasChromium, openPage } from '../browser.ts'
import { guideCode } from './guide.ts'

const ASSETS: [name: string, type: string][] = [
  ['docs.css', 'text/css; charset=utf-8'],
  ['tables.css', 'text/css; charset=utf-8'],
  ['reference.css', 'text/css; charset=utf-8'],
  ['docs.js', 'text/javascript; charset=utf-8'],
  ['icon.svg', 'image/svg+xml'],
  ['swagger-ui.css', 'text/css; charset=utf-8'],
  ['swagger-ui-bundle.js', 'text/javascript; charset=utf-8']
]

t.test('the guide', async t => {
  const { call, url } = await testService(t)
  const pages = await Promise.all(PAGES.map(page => call('GET', `/${guideAddress(page)}`, { key: null })))
  const [page] = pages

  t.test('needs no key, is not cached, and loads nothing from elsewhere', async t => {
    for (const page of pages)
      t.match(page, {
        status: 200,
        headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' }
      })
    t.match(page!.headers['content-security-policy'], /^default-src 'none'; script-src 'self'; style-src 'self';/)
    // Links to sources may lead elsewhere, because nothing is loaded until a reader follows them.
    const loaded = pages.map(({ text }) => text.replace(/<a href="https:[^"]*">/g, ''))
    const addresses = loaded.flatMap(text => [...text.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, to]) => to))
    t.same(
      addresses.filter(address => /^([a-z]+:|\/\/)/i.test(address!)),
      [],
      'all addresses are of this server'
    )
  })

  t.test("has this server's address in its examples", async t => {
    t.match(page!.text, `curl ${url}/api/v1/key`)
    for (const { text } of pages) t.notMatch(text, '{{')
    const passages = await call('GET', '/docs/passages.json', { key: null })
    t.match(passages, { status: 200, headers: { 'content-type': 'application/json' } })
    t.match(passages.text, `curl ${url}/api/v1/key`)
    t.notMatch(passages.text, '{{')
  })

  t.test('every link leads to an existing page or heading', async t => {
    const texts = new Map(PAGES.map((page, i) => [`/${guideAddress(page)}`, pages[i]!.text]))
    for (const [path, text] of texts) {
      const links = [...text.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, to]) => new URL(to!, `${url}${path}`))
      for (const { pathname, hash } of links.filter(({ origin }) => origin === url)) {
        const target = texts.get(pathname)
        const { status } = target === undefined ? await call('HEAD', pathname, { key: null }) : { status: 200 }
        t.equal(status, 200, `${path}: ${pathname}`)
        const id = hash.slice(1)
        if (target !== undefined && id !== '') t.match(target, ` id="${id}"`, `${path}: ${pathname}${hash}`)
      }
    }
    for (const { address } of (await call('GET', '/docs/passages.json', { key: null })).body) {
      const { pathname, hash } = new URL(address, url)
      t.match(texts.get(pathname), hash === '' ? '<h1' : ` id="${hash.slice(1)}"`, address)
    }
  })

  t.test('is at the address in the index', async t => {
    const { docs, openapi } = (await call('GET', '/api/v1')).body
    t.equal((await request(docs)).statusCode, 200)
    t.equal((await request(openapi)).statusCode, 200)
  })

  t.test('serves its assets, compressed for clients that support it', async t => {
    for (const [name, type] of ASSETS) {
      const { text } = pages[name.startsWith('swagger') ? pages.length - 1 : 0]!
      t.match(text, new RegExp(`"(?:\\.\\./)?docs/${name}"`), `${name} is part of the page`)
      const plain = await call('GET', `/docs/${name}`, { key: null })
      t.match(plain, { status: 200, headers: { 'content-type': type, 'cache-control': 'no-store' } }, name)
      const response = await request(`${url}/docs/${name}`, { headers: { 'accept-encoding': 'gzip;q=1.0, br' } })
      t.match(response.headers, { 'content-encoding': 'gzip', vary: 'Accept-Encoding', 'content-type': type }, name)
      t.ok(gunzipSync(await response.body.bytes()).equals(Buffer.from(plain.text)), `${name} is the same`)
    }
    for (const unwilling of ['identity', 'gzip;q=0', 'br, gzip; q=0.0']) {
      const { headers } = await call('HEAD', '/docs/docs.css', { headers: { 'accept-encoding': unwilling } })
      t.equal(headers['content-encoding'], undefined, unwilling)
    }
  })

  t.test('responds to HEAD, and to no other method', async t => {
    for (const path of ['/docs', '/docs/docs.css']) {
      const [get, head] = [await call('GET', path), await call('HEAD', path)]
      t.match(head, { status: 200, text: '' }, path)
      t.equal(head.headers['content-length'], get.headers['content-length'], path)
      t.match(await call('POST', path), { status: 405, headers: { allow: 'GET, HEAD' } }, path)
    }
    for (const path of ['/docs/', '/docs/page.html', '/docs/..%2fdocs.ts', '/docs/swagger-ui.js']) {
      t.equal((await call('GET', path)).status, 404, path)
    }
  })

  t.test('loads in a browser without errors, from this server alone', async t => {
    if (!(await hasChromium())) {
      t.comment("Debian's package chromium is not installed: the page was not opened in a browser.")
      return
    }
    const { open, evaluate, send, errors, requests } = await openPage(t)
    await open(`${url}/docs/reference`)
    // The viewer draws after the page has loaded.
    const operations = await evaluate(`new Promise(resolve => {
      const look = () => {
        const { length } = document.querySelectorAll('#operations .opblock')
        if (length > 0) resolve(length)
        else setTimeout(look, 20)
      }
      look()
    })`)
    const { endpoints } = (await call('GET', '/api/v1')).body
    t.equal(operations, Object.keys(endpoints).length, 'every operation is listed')
    const shown = `[...document.querySelectorAll('figure')].map(figure => figure.querySelectorAll('pre:not([hidden])').length)`
    await send('Emulation.setDeviceMetricsOverride', { width: 390, height: 844, deviceScaleFactor: 1, mobile: true })
    for (const page of PAGES.slice(0, -1)) {
      await open(`${url}/${guideAddress(page)}`)
      const counts = new Set((await evaluate(shown)) as number[])
      counts.delete(1)
      t.same([...counts], [], `${page.title}: each example is shown in one language`)
      t.equal(
        await evaluate('document.querySelector("#guide").scrollWidth <= innerWidth && innerWidth'),
        390,
        page.title
      )
    }
    await open(`${url}/docs`)
    // The script listens only once it has loaded, so the word is typed again until passages are shown.
    const found = `new Promise(resolve => {
      const field = document.querySelector('.search input')
      const look = () => {
        const links = [...document.querySelectorAll('.found a')].map(link => link.href)
        if (links.length > 0) return resolve(links)
        field.value = 'retry-after'
        field.dispatchEvent(new Event('input'))
        setTimeout(look, 100)
      }
      look()
    })`
    t.ok(((await evaluate(found)) as string[]).includes(`${url}/docs/errors#errors`), 'the search box finds passages')
    // Another page is open first: the browser would not load the same page again for another hash.
    await open(`${url}/docs/install`)
    await open(`${url}/docs#coding-agents`)
    // The browser refuses to evaluate while it navigates.
    const place = () => evaluate('location.href').catch(() => undefined)
    await until(async () => (await place()) === `${url}/docs/coding-agents#coding-agents`)
    t.same(errors, [])
    t.same(
      requests.filter(address => !address.startsWith(`${url}/`)),
      []
    )
    t.ok(requests.length > ASSETS.length, 'the requests were seen')
  })
})

t.test('a step that states its failure as in the guide is shown with its error', async t => {
  const { call } = await testService(t)
  const [example = ''] = guideCode((await call('GET', '/docs/find')).text, 'failures', 'json')
  const { events, ...step } = JSON.parse(example)
  const [type, message] = ['TimeoutError', 'No response after 800 ms']
  const { startedAt, endedAt } = step
  const forms = [
    { events },
    { attributes: { 'error.type': type, 'error.message': message } },
    { output: { error: { type, message } } }
  ]
  for (const form of forms) {
    const body = ingestBody({ startedAt, endedAt, spans: [{ ...step, ...form }] })
    t.equal((await call('POST', '/api/v1/traces', { body })).status, 201)
    const { spans } = (await call('GET', `/api/v1/spans?traceId=${body.trace.id}`)).body
    t.match(spans, [{ name: step.name, error: { type, message } }], JSON.stringify(form))
  }
  // A response on a busy machine may cover only some of the traces.
  let count = 0
  for (let after: string | null = ''; after !== null; ) {
    const { body } = await call('GET', `/api/v1/errors?from=${startedAt}${after && `&after=${after}`}`)
    t.match(body.errors, [{ name: step.name, type }], 'one group')
    count += body.errors[0].count
    after = body.nextCursor
  }
  t.equal(count, forms.length)
})

t.test('any BASE_URL stays text in the page', async t => {
  const { call } = await testService(t, { config: { baseUrl: 'https://example.com/"a<b&c' } })
  const { text } = await call('GET', '/docs')
  t.match(text, 'curl -sS https://example.com/&quot;a&lt;b&amp;c/api/v1/traces')
  t.notMatch(text, 'a<b')
})
