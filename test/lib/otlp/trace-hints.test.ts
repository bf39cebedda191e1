import t from 'tap'
import { mapAttributes, mapFrom, mapOne } from './mapped.ts'

t.test("a span's claims about its trace", async t => {
  const tags = ['a', 'b']
  const cases: [Record<string, unknown>, object][] = [
    [
      { 'gen_ai.conversation.id': 'c', 'user.id': 'u' },
      { sessionId: 'c', userId: 'u' }
    ],
    [{ 'session.id': '' }, { sessionId: undefined }],
    [{ 'session.id': 's'.repeat(201) }, { sessionId: 's'.repeat(200) }],
    [{ 'tag.tags': tags }, { tags }],
    [{ 'tag.tags': '["a","b"]' }, { tags }],
    [{ 'langfuse.tags': 'a, b,,a' }, { tags }],
    [{ metadata: '{"k":{"x":1}}' }, { metadata: { k: '{"x":1}' } }],
    [{ metadata: 'no object' }, { metadata: {} }],
    [
      { 'langfuse.trace.metadata.team': 'ops', 'langfuse.trace.name': 'n' },
      { metadata: { team: '"ops"' }, name: 'n' }
    ],
    [
      {
        'langfuse.trace.metadata.tier': '"pro"',
        'langfuse.trace.metadata.seats': '3',
        'langfuse.trace.output': '"done"'
      },
      { metadata: { tier: '"pro"', seats: '"3"' }, output: '"done"' }
    ],
    [
      { 'langfuse.trace.input': '{"q":1}', 'langfuse.trace.output': 'done' },
      { input: '{"q":1}', output: '"done"' }
    ],
    [
      { 'ai.telemetry.metadata.tier': 'gold', 'ai.telemetry.metadata.userId': 'u' },
      { metadata: { tier: '"gold"', userId: undefined }, userId: 'u' }
    ],
    [
      {
        'ai.settings.context.tier': 'gold',
        'ai.settings.context.sessionId': 's',
        'ai.settings.context.tags': ['a', 'b']
      },
      { metadata: { tier: '"gold"', tags: undefined }, sessionId: 's', tags }
    ],
    [{ 'mlflow.traceTag.team': 'ops' }, { metadata: { team: '"ops"' } }],
    [
      { 'traceloop.association.properties.plan': 1, 'traceloop.workflow.name': 'w' },
      { metadata: { plan: '1' }, name: 'w' }
    ]
  ]
  for (const [attributes, expected] of cases) {
    const { hints, attributes: kept } = mapAttributes(attributes)
    t.match(hints, expected, JSON.stringify(attributes).slice(0, 99))
    t.match(kept, attributes, 'and it is kept on the span')
  }
  const parentSpanId = 'b'.repeat(16)
  t.equal(mapOne({}).hints.level, 1)
  t.equal(mapOne({ parentSpanId: '0'.repeat(16) }).hints.level, 1)
  t.equal(mapOne({ parentSpanId }).hints.level, 3)
  t.equal(mapOne({ parentSpanId, flags: 0x101 }).hints.level, 3)
  t.equal(mapOne({ parentSpanId, flags: 0x301 }).hints.level, 2, 'its parent is in another process')
  t.equal(mapOne({ parentSpanId, attributes: { 'langfuse.internal.is_app_root': true } }).hints.level, 2)
})

t.test('a trace whose root has a name shared by all runs is named after the agent or service', async t => {
  const service = { 'service.name': 'my-agent' }
  for (const name of [
    'claude_code.interaction',
    'invoke_agent',
    'gemini-cli',
    'user_prompt',
    'turn/start',
    'Session.get'
  ]) {
    t.equal(mapFrom(service, { name }).hints.ownName, 'my-agent', name)
    t.equal(mapFrom(service, { name }).name, name, 'the span keeps its name')
    const agent = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'helper' }
    t.equal(mapFrom(service, { name, attributes: agent }).hints.ownName, 'helper')
    t.equal(mapFrom({}, { name }).hints.ownName, name)
    t.equal(mapFrom({ 'service.name': 'unknown_service:node' }, { name }).hints.ownName, name)
    const named = mapFrom(service, { name, attributes: { 'langfuse.trace.name': 'mine' } })
    t.equal(named.hints.name, 'mine')
  }
  for (const name of ['invoke_agent copilot', 'POST /chat', 'answer']) {
    t.equal(mapFrom(service, { name }).hints.ownName, name)
  }
})

t.test("a resource's sessions and users", async t => {
  for (const name of ['session.id', 'gen_ai.conversation.id']) {
    t.match(mapFrom({ [name]: 's', 'user.id': 'u' }, {}).hints, {
      sessionId: undefined,
      resourceSessionId: 's',
      resourceUserId: 'u'
    })
    t.match(mapFrom({ [name]: 's' }, { attributes: { 'session.id': 'own' } }).hints, { sessionId: 'own' })
  }
})
