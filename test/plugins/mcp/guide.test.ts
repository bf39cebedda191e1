import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { RECIPES } from '../../../plugins/mcp/guide.ts'
import { mcpClient, modernClient, post } from '../../fixtures/service/mcp.ts'
import { testService } from '../../fixtures/service/service.ts'

const service = await testService(t)
const { client, use } = await mcpClient(t, service)
const URI = 'spoor://guide'

t.test('the guide is a resource of one page, for clients of both protocol eras', async t => {
  for (const each of [client, await modernClient(t, service)]) {
    const { resources } = await each.listResources()
    t.match(resources, [{ uri: URI, name: 'guide', mimeType: 'text/markdown' }])
    t.same((await each.listResourceTemplates()).resourceTemplates, [])
    const { contents } = await each.readResource({ uri: URI })
    t.match(contents, [{ uri: URI, mimeType: 'text/markdown', text: /^# spoor/ }])
    await t.rejects(each.readResource({ uri: 'spoor://other' }), { message: /Unknown resource: spoor:\/\/other/ })
  }
  t.match(client.getInstructions(), /spoor:\/\/guide/)
})

t.test("it names each of the key's tools with its parameters, in at most 60 lines", async t => {
  const { tools } = await client.listTools()
  const text = await readGuide(client)
  t.ok(text.split('\n').length <= 60, `${text.split('\n').length} lines`)
  t.ok(Buffer.byteLength(text) < 8000, `${Buffer.byteLength(text)} bytes`)
  for (const { name } of tools) t.match(text, `\n- ${name}: `)
  t.match(text, '- list_spans: answers "which steps" (kind, name, status, model, traceId, environment, traceName, tag,')
  const { key } = await service.makeKey({ scopes: ['traces:write'] })
  const writer = await mcpClient(t, service, key)
  const short = await readGuide(writer.client)
  t.match(short, /record_trace/)
  t.notMatch(short, /\n- search_traces|## Questions/)
})

t.test('the tools accept each call in its recipes', async t => {
  const { tools } = await client.listTools()
  for (const { question, calls } of RECIPES) {
    for (const [name, args] of calls) {
      const schema = tools.find(tool => tool.name === name)!.inputSchema
      const check = new Ajv2020({ strict: false, validateFormats: false }).compile(schema)
      const filled = Object.fromEntries(
        Object.entries(args).map(([field, value]) => [
          field,
          typeof value === 'string' && value.startsWith('<')
            ? ({ from: '2026-11-21T00:00:00Z', to: '2026-11-22T00:00:00Z' }[field] ?? 'x')
            : value
        ])
      )
      t.ok(check(filled), `${question} ${name}`)
      const { isError, value } = await use(name, filled)
      if ('q' in filled) t.match(value.error?.message, /turn it on/, 'searching words requires an index')
      else t.notOk(isError, `${question} ${name}`)
    }
  }
})

t.test('a page of resources has no cursor', async t => {
  const list = { jsonrpc: '2.0', id: 1, method: 'resources/list', params: { cursor: 'x' } }
  t.match((await post(service, list)).body, { error: { code: -32602 } })
})

async function readGuide(from: typeof client): Promise<string> {
  const { contents } = await from.readResource({ uri: URI })
  return (contents[0] as { text: string }).text
}
