/** Numbers in free-form JSON are returned as they were written. Bodies that differ only in notation are identical. */
import { createHash } from 'node:crypto'
import { LosslessNumber, parse as parseLossless } from 'lossless-json'
import t from 'tap'
import { AT, LATER, spanId, traceId } from '../fixtures/bodies/bodies.ts'
import { exportOf, otlpSpan } from '../fixtures/bodies/otlp.ts'
import { exportLines, testImporter } from '../fixtures/database/moving.ts'
import { testService } from '../fixtures/service/service.ts'

const TRACES = '/api/v1/traces'
const MANY = '1234567890'.repeat(10)
const THIRDS = '3'.repeat(99)
const ODD = `[1.0,-0,0.0,1E2,1.50,0.0000001,1e400,${MANY},0.${THIRDS}0,9007199254740993,1e99999999999999999999]`
const FREE = `{"z":${ODD},"a":{"n":2.0}}`
/** The same numbers in another notation. A double cannot represent the last five numbers. */
const SAME = `[1,0,-0.0,100.0,1.5,1e-7,10E399,${MANY}.0,${THIRDS}e-99,9.007199254740993e15,10e99999999999999999998]`
const OTHER = `{"z":${SAME},"a":{"n":2}}`

const parse = (text: string): unknown => parseLossless(text)

/** Returns the SHA-256 of a document in which numbers keep their notation. */
const rc1Hash = (document: unknown): string => createHash('sha256').update(inKeyOrder(document)).digest('hex')

function inKeyOrder(value: unknown): string {
  if (value instanceof LosslessNumber) return isOfDouble(value.value) ? String(Number(value.value)) : value.value
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(inKeyOrder).join()}]`
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, each]) => `${JSON.stringify(name)}:${inKeyOrder(each)}`).join()}}`
}

/** Returns whether a double can represent the number. Correct only for the numbers in this file. */
const isOfDouble = (literal: string): boolean => literal.length < 12 && literal !== '1e400'

const spanOf = (id: string, free: string) =>
  `{"id":"${id}","name":"s","startedAt":"${AT}","endedAt":"${LATER}","input":${free},"output":${free},` +
  `"attributes":${free},"events":[{"name":"e","timestamp":"${AT}","attributes":${free}}]}`

/** Two layouts of a body. The second layout is not read in one pass. */
const LAYOUTS: [string, (body: string) => string][] = [
  ['compact', body => body],
  ['with a repeated name', body => body.replace('{"schemaVersion":1', '{"schemaVersion":2,"schemaVersion":1')]
]

t.test('numbers keep their spelling', async t => {
  const service = await testService(t)
  const post = (path: string, body: string) => service.call('POST', TRACES + path, { body })
  const read = async (id: string) => (await service.call('GET', `${TRACES}/${id}`)).text
  const times = (text: string, part: string) => text.split(part).length - 1
  for (const [layout, lay] of LAYOUTS) {
    await t.test(`in bodies that are ${layout}`, async t => {
      const [id, first, second, third] = [traceId(), spanId(), spanId(), spanId()]
      const start = (free: string) =>
        lay(
          `{"schemaVersion":1,"trace":{"id":"${id}","name":"n","startedAt":"${AT}","input":${free},"metadata":${free},` +
            `"spans":[${spanOf(first, free)}]}}`
        )
      const append = (free: string) => lay(`{"schemaVersion":1,"spans":[${spanOf(second, free)}]}`)
      const end = (free: string) =>
        lay(
          `{"schemaVersion":1,"endedAt":"${LATER}","output":${free},"metadata":{"end":${free}},"spans":[${spanOf(third, free)}]}`
        )
      t.match(await post('', start(FREE)), { status: 201 })
      t.match(await post(`/${id}/spans`, append(FREE)), { status: 200, body: { added: 1 } })
      t.match(await post(`/${id}/spans`, append(OTHER)), { status: 200, body: { added: 0, duplicate: 1 } })
      t.match(await post(`/${id}/end`, end(FREE)), { status: 200 })
      const patched = await service.call('PATCH', `${TRACES}/${id}`, { body: `{"metadata":{"patch":${FREE}}}` })
      t.match(patched, { status: 200, body: { changed: true } })
      t.equal(times(patched.text, ODD), 3)
      const detail = await read(id)
      // The numbers occur in the input and the output, three times in the metadata, and four times in each span.
      t.equal(times(detail, ODD), 17)
      t.equal(times(detail, '"n":2.0'), 17)

      t.match(await post('', start(OTHER)), { status: 200, body: { duplicate: true } })
      t.match(await post(`/${id}/end`, end(OTHER)), { status: 200, body: { duplicate: true } })
      const again = await service.call('PATCH', `${TRACES}/${id}`, { body: `{"metadata":{"patch":${OTHER}}}` })
      t.match(again, { status: 200, body: { changed: false } })
      t.equal(await read(id), detail, 'the first stored value is kept')
    })
  }

  await t.test('and are compared by value with what 1.0.0-rc.1 stored', async t => {
    const { pool } = service.database
    const [id, spanOne, spanTwo, gathered] = [traceId(), spanId(), spanId(), traceId()]
    const start = (spans: string) =>
      `{"schemaVersion":1,"trace":{"id":"${id}","name":"n","startedAt":"${AT}","metadata":${FREE},"spans":[${spans}]}}`
    const append = `{"schemaVersion":1,"spans":[${spanOf(spanTwo, FREE)}]}`
    const end = `{"schemaVersion":1,"endedAt":"${LATER}","output":${FREE}}`
    const attributes = {
      'openinference.span.kind': 'CHAIN',
      'input.value': FREE,
      'input.mime_type': 'application/json'
    }
    const exported = exportOf(otlpSpan({ traceId: gathered, attributes }))
    const sendAll = async () => [
      (await post('', start(spanOf(spanOne, FREE)))).body,
      (await post(`/${id}/spans`, append)).body,
      (await post(`/${id}/end`, end)).body,
      (await service.call('POST', '/api/v1/otlp/v1/traces', { body: exported })).body
    ]
    t.match(await sendAll(), [{ duplicate: false }, { added: 1 }, { duplicate: false }, {}])

    // Computes hashes like version 1.0.0-rc.1. That version's canonical form kept the notation of such numbers.
    const spelled = (detail: string) =>
      (parse(detail) as { spans: Record<string, unknown>[] }).spans.map(({ traceId: _, durationMs: __, ...span }) => {
        const absent = ['usage', 'costUsd', 'provider', 'model'].filter(name => span[name] === null)
        return Object.fromEntries(Object.entries(span).filter(([name]) => !absent.includes(name)))
      })
    const native = spelled(await read(id))
    const body = {
      schemaVersion: 1,
      trace: {
        ...{ id, name: 'n', startedAt: AT, metadata: parse(FREE), input: null, output: null, tags: [], usage: {} },
        spans: native.filter(span => span.id === spanOne)
      }
    }
    const ended = { endedAt: LATER, output: parse(FREE), spans: [], status: 'unset', tags: [] }
    await pool.run(async sql => {
      const spans = [...native, ...spelled(await read(gathered))]
      t.equal(spans.length, 3)
      for (const span of spans) {
        const { count } = await sql`
          update spans set hash = decode(${rc1Hash(span).slice(0, 32)}, 'hex') where id = decode(${span.id as string}, 'hex')`
        t.equal(count, 1)
      }
      await sql`
        update traces set body_hash = ${rc1Hash(body)}, end_hash = ${rc1Hash(ended)}, version = version + 1 where id = ${id}`
    })
    const recorded = await Promise.all([read(id), read(gathered)])
    t.match(recorded[0], rc1Hash(body))
    const [started, , finished, taken] = await sendAll()
    t.match([started, finished], [{ duplicate: true }, { duplicate: true }])
    t.same(taken, {}, 'no part of the export is rejected')
    t.same(await Promise.all([read(id), read(gathered)]), recorded)
  })

  await t.test('are preserved by an export and an import', async t => {
    const project = Number(await service.makeProject('copy'))
    const lines = await exportLines(service.database, 'default')
    t.match(await testImporter(t, service.database)(project, lines.join('\n')), { imported: 4, problems: [] })
    t.same(await exportLines(service.database, 'copy'), lines)
  })

  await t.test('count with their stored length', async t => {
    const zeros = '0'.repeat(768_000)
    const body = (free: string) =>
      `{"schemaVersion":1,"trace":{"id":"${traceId()}","name":"n","startedAt":"${AT}","endedAt":"${LATER}","input":${free}}}`
    t.match(await post('', body(`1.${zeros}`)), { status: 413 })
    const id = traceId()
    const size = async (free: string) => {
      await post('', body(free).replace(/[0-9a-f]{32}/, id))
      const { estimatedBytes } = JSON.parse(await read(id)).trace
      await service.call('DELETE', `${TRACES}/${id}`)
      return estimatedBytes
    }
    t.equal((await size('1.000')) - (await size('1')), 4)
  })

  await t.test("are checked against their fields' rules as written", async t => {
    const trace = (fields: string) =>
      `{"schemaVersion":1,"trace":{"id":"${traceId()}","name":"n","startedAt":"${AT}","endedAt":"${LATER}"${fields}}}`
    const usage = (tokens: string) => `,"usage":{"inputTokens":${tokens}}`
    const ofSpan = (fields: string) => spanOf(spanId(), '{}').replace(/\}$/, `${fields}}`)
    const id = traceId()
    await post('', `{"schemaVersion":1,"trace":{"id":"${id}","name":"n","startedAt":"${AT}"}}`)
    const end = (version: string, fields: string) =>
      post(`/${id}/end`, `{"schemaVersion":${version},"endedAt":"${LATER}"${fields}}`)
    const tool = async (name: string, args: string) => {
      const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":${args}}}`
      const { body } = await service.call('POST', '/api/mcp', { body: call })
      return { status: body.result.isError ? 400 : 200, body: body.result.structuredContent }
    }
    const refused: [unknown, RegExp][] = []
    for (const [, lay] of LAYOUTS) {
      for (const tokens of ['9007199254740990.9999999', '1.00000000000000000001', '1e-400', '-1e-400'])
        refused.push([await post('', lay(trace(usage(tokens)))), /trace\.usage\.inputTokens: must be an integer/])
      for (const tokens of ['9007199254740992', '9007199254740993', '1e400'])
        refused.push([await post('', lay(trace(usage(tokens)))), /inputTokens: must be at most 9007199254740991/])
      refused.push(
        [await post('', lay(trace(usage('9007199254740991.2')))), /inputTokens: must be an integer/],
        [await post('', lay(trace(',"costUsd":-1e-400'))), /trace\.costUsd: must be at least 0/],
        [
          await post('', lay(trace(`,"spans":[${ofSpan(',"costUsd":-1e-400')}]`))),
          /trace\.spans\[0\]\.costUsd: must be at least 0/
        ],
        [
          await post(`/${id}/spans`, lay(`{"schemaVersion":1,"spans":[${ofSpan(usage('1.00000000000000000001'))}]}`)),
          /spans\[0\]\.usage\.inputTokens: must be an integer/
        ]
      )
    }
    refused.push(
      [await post('', trace('').replace('1', '0.99999999999999999999999')), /schemaVersion: must equal 1/],
      [await end('1.00000000000000000001', ''), /schemaVersion: must equal 1/],
      [await end('1', ',"costUsd":-1e-400'), /costUsd: must be at least 0/],
      [await tool('list_traces', '{"limit":50.000000000000000000001}'), /limit: must be an integer/],
      [await tool('list_traces', '{"limit":200.000000000000000000001}'), /limit: must be an integer/],
      [await tool('record_trace', trace(usage('1e-400'))), /trace\.usage\.inputTokens: must be an integer/],
      [await tool('get_trace', `{"traceId":"${id}","field":"input","offset":0.1e-400}`), /offset: must be an integer/]
    )
    for (const [answer, message] of refused) t.match(answer, { status: 400, body: { error: { message } } })

    for (const fields of [usage('1.0'), usage('10e-1'), usage('9007199254740991.0'), usage('-0'), ',"costUsd":1e-400'])
      for (const [, lay] of LAYOUTS) t.match(await post('', lay(trace(fields))), { status: 201 }, fields)
    t.match(await tool('list_traces', '{"limit":5.0}'), { status: 200 })
    t.match(await end('1.0', ',"costUsd":1e-400'), { status: 200 })
    t.match(await end('1e0', ',"costUsd":0'), { status: 200, body: { duplicate: true } }, 'stored as the double 0')
  })

  await t.test('are numbers in fields that are numeric', async t => {
    const id = traceId()
    const trace = `"id":"${id}","name":"n","startedAt":"${AT}","endedAt":"${LATER}","costUsd":1.0,"usage":{"inputTokens":5.0}`
    t.match(await post('', `{"schemaVersion":1.0,"trace":{${trace}}}`), { status: 201 })
    t.match(await post(`/${id}/scores`, '{"name":"q","dataType":"numeric","value":2.50}'), { status: 201 })
    const detail = await read(id)
    t.match(detail, /"inputTokens":5,.*"costUsd":1,.*"value":2\.5,/)
  })
})
