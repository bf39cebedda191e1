/**
 * Checks that a call answered without the SDK gets the response that the SDK would give. An extra field in a call makes
 * the server use the SDK.
 */
import t from 'tap'
import { Refusal } from '../../../lib/errors.ts'
import { JsonText, type Reply } from '../../../lib/http/route.ts'
import { answerUnreadable, answerWithTools, type Toolbox } from '../../../lib/mcp/protocol.ts'

const EXACT = '{"n":12345678901234567890,"text":"\\u0000 \\"quoted\\" \\ud800","empty":{}}'
const LISTING = {
  ...{
    name: 'echo',
    title: 'Echo',
    description: 'Says what it was given.',
    annotations: { readOnlyHint: true } as never
  },
  ...{ inputSchema: { type: 'object' }, outputSchema: { type: 'object' } }
}

/** Returns tools that record the arguments of their calls. */
function toolbox() {
  const calls: unknown[][] = []
  const box: Toolbox = {
    listings: [LISTING],
    resources: [],
    async call(name, args, id) {
      calls.push([name, args, id])
      if (name === 'broken') throw new Error('the store is away')
      if (name === 'refuse') return { result: '{"error":{}}', isError: true }
      return name === 'echo' ? { result: EXACT } : undefined
    }
  }
  return { box, calls }
}

const request = (method: string, params: object | undefined, id: unknown = 1) => ({
  jsonrpc: '2.0',
  id,
  method,
  params
})
const callOf = (name: string, args: unknown = { a: 1 }) => request('tools/call', { name, arguments: args })
const bySdk = (message: ReturnType<typeof request>) => ({ ...message, params: { ...message.params, _meta: {} } })

const textOf = ({ body }: Reply): string => (body instanceof JsonText ? body.text : JSON.stringify(body))
async function ask(message: unknown, headers: NodeJS.Dict<string> = {}) {
  const { box, calls } = toolbox()
  const reply = await answerWithTools(message, headers, box)
  return { status: reply.status ?? 200, text: textOf(reply), calls }
}

t.test('both transports call the tool in the same way, and return the same result', async t => {
  for (const message of [callOf('echo'), callOf('refuse'), { ...callOf('echo'), id: 'seven' }]) {
    const [byHand, sdk] = [await ask(message), await ask(bySdk(message))]
    t.strictSame(JSON.parse(byHand.text), JSON.parse(sdk.text))
    t.strictSame([byHand.status, byHand.calls], [sdk.status, sdk.calls])
    t.strictSame(byHand.calls, [
      [message.params && 'name' in message.params && message.params.name, { a: 1 }, message.id]
    ])
  }
  t.match(JSON.parse((await ask(callOf('refuse'))).text), {
    result: { isError: true, structuredContent: { error: {} } }
  })
})

t.test("a tool's text is returned unchanged, except for unpaired surrogates", async t => {
  for (const message of [callOf('echo'), bySdk(callOf('echo'))]) {
    const { text } = await ask(message)
    t.match(text, `"structuredContent":${EXACT.replace('\\ud800', '\ufffd')}`)
    t.match(text, `"text":${JSON.stringify(EXACT)}`)
  }
})

t.test('omitted arguments count as none', async t => {
  const { calls } = await ask(request('tools/call', { name: 'echo' }))
  t.strictSame(calls, [['echo', {}, 1]])
})

t.test("a tool's internal error fails the whole message", async t => {
  for (const message of [callOf('broken'), bySdk(callOf('broken')), [callOf('echo'), callOf('broken')]]) {
    await t.rejects(ask(message), { message: 'the store is away' })
  }
})

t.test('invalid calls are protocol errors', async t => {
  const table: [unknown, number, RegExp][] = [
    [callOf('unknown'), -32602, /Unknown tool: unknown/],
    [request('tools/call', { arguments: {} }), -32602, /params\.name: must be a string/],
    [request('tools/call', undefined), -32602, /params\.name: must be a string/],
    [callOf('echo', []), -32602, /params\.arguments: must be an object/],
    [callOf('echo', null), -32602, /params\.arguments: must be an object/],
    [request('tools/list', { cursor: 'x' }), -32602, /only one page/],
    [request('prompts/list', {}), -32601, /Method not found/]
  ]
  for (const [message, code, said] of table) {
    t.match(JSON.parse((await ask(message)).text), { jsonrpc: '2.0', id: 1, error: { code, message: said } })
  }
})

t.test('lists the tools unchanged', async t => {
  t.strictSame(JSON.parse((await ask(request('tools/list', undefined))).text).result, { tools: [LISTING] })
})

t.test('a notification gets no response, and each request in a batch gets its own', async t => {
  const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1, reason: 'late' } }
  t.match(await ask(cancelled), { status: 202 })
  const { text } = await ask([callOf('echo'), cancelled, { ...callOf('unknown'), id: 2 }])
  const answers = JSON.parse(text).sort((a: { id: number }, b: { id: number }) => a.id - b.id)
  t.match(answers, [
    { id: 1, result: {} },
    { id: 2, error: { code: -32602 } }
  ])
})

t.test('a client that does not accept JSON, or uses an unknown version, is told so', async t => {
  t.match(await ask(callOf('echo'), { accept: 'text/html' }), { status: 406, calls: [] })
  t.match(await ask(callOf('echo'), { 'mcp-protocol-version': '1999-01-01' }), { status: 400, calls: [] })
  for (const accept of ['*/*', 'application/*', 'text/event-stream, application/json;q=0.5']) {
    t.match(await ask(callOf('echo'), { accept, 'mcp-protocol-version': '2025-06-18' }), { status: 200 }, accept)
  }
})

t.test('an invalid message gets the response that the protocol prescribes', async t => {
  const unreadable = (code: 'invalid_json' | 'payload_too_large') => answerUnreadable(new Refusal(code, 'why'))
  t.match(unreadable('invalid_json'), { status: 400, body: { id: null, error: { code: -32700, message: 'why' } } })
  t.match(unreadable('payload_too_large'), { status: 400, body: { id: null, error: { code: -32600, message: 'why' } } })
})
