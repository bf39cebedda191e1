import t from 'tap'
import { MODELS } from '../../../../lib/demo/ordinary/models.ts'
import { randomFrom } from '../../../../lib/demo/ordinary/random.ts'
import { DemoRun } from '../../../../lib/demo/ordinary/run.ts'
import { callWithRetries, type DemoChat, supportTurn } from '../../../../lib/demo/ordinary/short-runs.ts'
import { supportCase } from '../../../../lib/demo/ordinary/texts.ts'

const START = Date.parse('2026-11-21T12:00:00Z')
const calm = { prompt: 'v13', rejected: 0, isExpensive: false } as const

t.test('a rejected call is tried three times, one after the other', async t => {
  const run = new DemoRun(START, randomFrom(3), true)
  const { failure } = callWithRetries(run, undefined, MODELS.mini, [], 'ok', { ...calm, rejected: 1 })
  t.equal(failure?.type, 'RateLimitError')
  t.equal(run.spans.length, 3)
  for (const [i, { startedAt }] of run.spans.entries()) if (i > 0) t.ok(startedAt > run.spans[i - 1]!.endedAt)
  t.equal(run.usage.totalTokens, 0, 'a rejected call used no tokens')
})

t.test('a later turn in a conversation sends the earlier ones', async t => {
  const random = randomFrom(11)
  const conversation: DemoChat = { about: supportCase(random), history: [] }
  for (let turn = 1; turn <= 3; turn++) {
    const before = conversation.history.length
    const run = new DemoRun(START, random, false)
    const { failure } = supportTurn(run, calm, conversation)
    if (failure !== undefined) continue
    t.equal(conversation.history.length, before + 2)
    const { messages } = run.spans.find(({ kind }) => kind === 'llm')!.input as { messages: { content: string }[] }
    t.same(messages.slice(1, 1 + before), conversation.history.slice(0, before))
  }
  t.ok(conversation.history.length >= 4)
})
