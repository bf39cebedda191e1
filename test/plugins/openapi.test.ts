import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { Validator } from '@seriousme/openapi-schema-validator'
import t from 'tap'
import { describeApi } from '../../lib/openapi/document.ts'
import { spawnNode } from '../fixtures/node.ts'
import { testService } from '../fixtures/service/service.ts'

const PATH = '/api/v1/openapi.json'
const REDOCLY = fileURLToPath(import.meta.resolve('@redocly/cli/bin/cli.js'))

/** All recommended rules of redocly as errors, with the exceptions listed here. */
const RULES = {
  extends: ['recommended-strict'],
  rules: {
    // The index and the document itself reject no client.
    'operation-4xx-response': 'off'
  }
}

t.test('the document over HTTP', async t => {
  const { call, url, app } = await testService(t)
  const first = await call('GET', PATH, { key: null })

  t.test("describes the service's routes, with the requested address", async t => {
    t.equal(first.status, 200)
    t.equal(first.headers['content-type'], 'application/json')
    t.equal(first.text, JSON.stringify(describeApi(app.routes, { baseUrl: url, keyPrefix: 'spoor' })))
    t.match(first.body, { openapi: /^3\.1\./, info: { version: '1.0.0' }, servers: [{ url }] })
  })

  t.test('can be cached, and is not sent again if unchanged', async t => {
    const etag = String(first.headers.etag)
    t.equal(first.headers['cache-control'], 'public, max-age=300')
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const answer = await call('GET', PATH, { headers: { 'if-none-match': known } })
      t.match(answer, { status: 304, text: '', headers: { etag, 'cache-control': 'public, max-age=300' } }, known)
    }
    for (const other of ['"other"', etag.slice(1, -1)]) {
      t.equal((await call('GET', PATH, { headers: { 'if-none-match': other } })).status, 200, other)
    }
  })

  t.test('responds to HEAD with only the headers', async t => {
    const head = await call('HEAD', PATH)
    t.match(head, { status: 200, text: '', headers: { etag: String(first.headers.etag) } })
    t.equal(head.headers['content-length'], first.headers['content-length'])
  })

  t.test('follows the name under which the service is reached', async t => {
    const ask = (host: string) => call('GET', PATH, { headers: { host } })
    const answer = await ask('traces.example.com')
    t.same(answer.body.servers, [{ url: 'http://traces.example.com' }])
    t.not(answer.headers.etag, first.headers.etag)
    t.equal(answer.headers.vary, 'Host', "so that a shared cache does not return one name's document for another")
    const known = { 'if-none-match': String(answer.headers.etag), host: 'traces.example.com' }
    t.match(await call('GET', PATH, { headers: known }), { status: 304, headers: { vary: 'Host' } })
    // There are more names than the server caches.
    for (let each = 0; each < 20; each++) await ask(`host-${each}.example.com`)
    t.equal((await ask('traces.example.com')).text, answer.text)
  })

  t.test('satisfies @seriousme/openapi-schema-validator', async t => {
    t.same(await new Validator().validate(first.body), { valid: true })
  })

  t.test('satisfies redocly', async t => {
    const folder = t.testdir({ 'redocly.yaml': JSON.stringify(RULES) })
    await writeFile(join(folder, 'openapi.json'), first.text)
    const child = spawnNode([REDOCLY, 'lint', '--format=json', 'openapi.json'], {
      cwd: folder,
      env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
    })
    const [output] = await Promise.all([text(child.stdout), text(child.stderr)])
    t.same(JSON.parse(output.slice(output.indexOf('{'))).problems, [])
  })
})

t.test('the document names BASE_URL if it is set', async t => {
  const baseUrl = 'https://example.com/spoor'
  const { call } = await testService(t, { config: { baseUrl } })
  const [index, document] = [await call('GET', '/api/v1'), await call('GET', PATH)]
  t.same(document.body.servers, [{ url: baseUrl }])
  t.match(index.body, { openapi: `${baseUrl}${PATH}`, docs: `${baseUrl}/docs` })
})
