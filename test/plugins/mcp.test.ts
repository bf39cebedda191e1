import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { INGEST_EXAMPLES } from '../../lib/openapi/examples.ts'
import { SCOPES } from '../../lib/keys.ts'
import { mcpClient } from '../fixtures/mcp.ts'
import { testService } from '../fixtures/service.ts'

const service = await testService(t)
const { use, client, toolNames } = await mcpClient(t, service)

t.test('records', async t => {
  console.log(await toolNames())
  console.log(await use('record_trace', INGEST_EXAMPLES.full))
  console.log(await use('get_trace', {traceId: INGEST_EXAMPLES.full.trace.id}))
  console.log(await use('get_trace', {traceId: INGEST_EXAMPLES.full.trace.id, detail: 'outline'}))
  console.log(await use('get_trace', {traceId: 'x'}))
  console.log(await use('list_traces', {limt: 3}))
  console.log(await use('list_traces', {limit: 3}))
  console.log(await use('get_project', {}))
  console.log(await use('get_ingest_schema', {}))
  const tools = await client.listTools()
  console.log(JSON.stringify(tools).length, JSON.stringify(tools.tools.map(x=>[x.name, JSON.stringify(x.inputSchema).length, JSON.stringify(x.outputSchema).length])))
})
