/** Numbers in free JSON come back with the text that they were sent with, wherever it stands; identity compares values. */
import t from 'tap'
import { AT, LATER, spanId, traceId } from '../fixtures/bodies/bodies.ts'
import { exportLines, testImporter } from '../fixtures/database/moving.ts'
import { testService } from '../fixtures/service/service.ts'

const TRACES = '/api/v1/traces'
const ODD = `[1.0,-0,0.0,1E2,1.50,0.0000001,1e400,${'1234567890'.repeat(10)},0.${'3'.repeat(99)}0]`
const FREE = `{"z":${ODD},"a":{"n":2.0}}`
/** The same numbers, as another client might write them. */
const OTHER = FREE.replace('1.0,-0,0.0,1E2,1.50,0.0000001', '1,0,-0.0,100.0,1.5,1e-7').replace('2.0', '2')

const spanOf = (id: string, free: string) =>
  `{"id":"${id}","name":"s","startedAt":"${AT}","endedAt":"${LATER}","input":${free},"output":${free},` +
  `"attributes":${free},"events":[{"name":"e","timestamp":"${AT}","attributes":${free}}]}`

/** How a client may lay out a body: the second way is not read in one pass. */
const LAYOUTS: [string, (body: string) => string][] = [
  ['compact', body => body],
  ['with a name that stands twice', body => body.replace('{"schemaVersion":1', '{"schemaVersion":2,"schemaVersion":1')]
]

t.test('numbers keep their text', async t => {
  const service = await testService(t)
  const post = (path: string, body: string) => service.call('POST', TRACES + path, { body })
  const read = async (id: string) => (await service.call('GET', `${TRACES}/${id}`)).text
  const times = (text: string, part: string) => text.split(part).length - 1
  for (const [layout, lay] of LAYOUTS) {
    await t.test(`of bodies that are ${layout}`, async t => {
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
      // Input and output, metadata three times over, and four in each span.
      t.equal(times(detail, ODD), 17)
      t.equal(times(detail, '"n":2.0'), 17)

      t.match(await post('', start(OTHER)), { status: 200, body: { duplicate: true } })
      t.match(await post(`/${id}/end`, end(OTHER)), { status: 200, body: { duplicate: true } })
      const again = await service.call('PATCH', `${TRACES}/${id}`, { body: `{"metadata":{"patch":${OTHER}}}` })
      t.match(again, { status: 200, body: { changed: false } })
      t.equal(await read(id), detail, 'what was stored first stays')
    })
  }

  await t.test('through an export and an import', async t => {
    const project = Number(await service.makeProject('copy'))
    const lines = await exportLines(service.database, 'default')
    t.match(await testImporter(t, service.database)(project, lines.join('\n')), { imported: 2, problems: [] })
    t.same(await exportLines(service.database, 'copy'), lines)
  })

  await t.test('and count as long as they are stored', async t => {
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

  await t.test('but in fields that are numbers of their own, they are numbers', async t => {
    const id = traceId()
    const trace = `"id":"${id}","name":"n","startedAt":"${AT}","endedAt":"${LATER}","costUsd":1.0,"usage":{"inputTokens":5.0}`
    t.match(await post('', `{"schemaVersion":1.0,"trace":{${trace}}}`), { status: 201 })
    t.match(await post(`/${id}/scores`, '{"name":"q","dataType":"numeric","value":2.50}'), { status: 201 })
    const detail = await read(id)
    t.match(detail, /"inputTokens":5,.*"costUsd":1,.*"value":2\.5,/)
  })
})
