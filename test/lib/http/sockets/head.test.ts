/** Requests that two readers may understand differently are rejected, whatever they request. */
import t from 'tap'
import { ingestBody } from '../../../fixtures/bodies/bodies.ts'
import { parseRaw, sendRaw, statuses } from '../../../fixtures/service/raw.ts'
import { testService } from '../../../fixtures/service/service.ts'

const head = (...lines: string[]) => `${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n`

t.test('a repeated header that may occur only once, or a transfer coding other than chunked, gets 400', async t => {
  const { port, key } = await testService(t)
  const get = 'GET /api/v1/key HTTP/1.1'
  const auth = `Authorization: Bearer ${key}`
  const body = JSON.stringify(ingestBody())
  const chunks = `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n0\r\n\r\n`
  const post = (coding: string) => head('POST /api/v1/traces HTTP/1.1', 'Host: a', auth, coding) + chunks
  const cases: [text: string, named: RegExp][] = [
    [head(get, 'Host: a', 'Host: b', auth), /more than one Host header/],
    [head(get, 'Host: a', 'hOST: a', auth), /more than one Host header/],
    [head('GET /api/v1 HTTP/1.1', 'Host: a', 'Host: a'), /more than one Host header/],
    [head('GET /nothing HTTP/1.0', 'Host: a', 'Host: a'), /more than one Host header/],
    [head(get, 'Host: a', auth, auth), /more than one Authorization header/],
    [head(get, 'Host: a', auth, 'authorization: Bearer other'), /more than one Authorization header/],
    [head(get, 'Host: a', 'Authorization: Bearer other', auth), /more than one Authorization header/],
    [post('Transfer-Encoding: gzip, chunked'), /^Transfer-Encoding must be chunked/],
    [post('Transfer-Encoding: identity, chunked'), /^Transfer-Encoding must be chunked/],
    [post('Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked'), /^Transfer-Encoding must be chunked/]
  ]
  for (const [text, named] of cases) {
    const answer = parseRaw(await sendRaw(port, text))
    t.equal(answer.status, 400, text.slice(0, 120))
    const { error } = JSON.parse(answer.body)
    t.match(error, { code: 'invalid_request', message: named, requestId: answer.headers['x-request-id'] })
  }
  t.same(statuses(await sendRaw(port, post('Transfer-Encoding: Chunked'))), [201], 'chunked alone, in any case')
  t.same(
    statuses(await sendRaw(port, head(get, 'Host: a', auth, 'X-A: 1', 'X-A: 2'))),
    [200],
    'other headers can be repeated'
  )
})

t.test('more headers than the server reads get 431, and none is dropped', async t => {
  const { port, key } = await testService(t)
  const body = JSON.stringify(ingestBody())
  const post = (more: number) =>
    head(
      'POST /api/v1/traces HTTP/1.1',
      'Host: a',
      `Authorization: Bearer ${key}`,
      ...Array.from({ length: more }, () => 'x:'),
      `Content-Length: ${Buffer.byteLength(body)}`
    ) + body
  const many = parseRaw(await sendRaw(port, post(2100)))
  t.equal(many.status, 431)
  t.match(JSON.parse(many.body).error, { code: 'invalid_request', message: /2104 headers, but at most 2000/ })
  t.same(statuses(await sendRaw(port, post(1996))), [201], 'as many as are read')
})
