/** A conversation of three traces. Each call of the model is sent all that was said before, with the model's thinking. */
import { type Clock, type DemoTrace, spanId, tokens, traceId } from './parts.ts'

const MODEL = { provider: 'anthropic', model: 'claude-opus-4-5' } as const
const SYSTEM = 'You are the bookseller of a small shop. You know the shelves, and you ask before you guess.'

interface Turn {
  readonly question: string
  readonly thinking: string
  readonly tool?: { readonly name: string; readonly input: object; readonly result: string }
  readonly answer: string
}

const TURNS: readonly Turn[] = [
  {
    question: 'I am looking for a book for my father. He likes the sea, but he has read Moby-Dick.',
    thinking:
      'A gift. The sea without Melville: Conrad, O’Brian, Stifter is no sea… I should ask whether he prefers stories or ' +
      'true accounts before I name titles, and say what we have on the shelf.',
    answer: 'With pleasure! Does he prefer **stories**, or **true accounts** of journeys? And roughly what may it cost?'
  },
  {
    question: 'True accounts, up to 30 euros. He reads English and German.',
    thinking:
      'Look at the shelf: genre travel, sea, in stock, at most 30 euros. Then at most three titles, with reasons.',
    tool: {
      name: 'search_shelf',
      input: { genre: 'travel', topic: 'sea', maxPrice: 30, languages: ['en', 'de'] },
      result: JSON.stringify([
        { title: 'Sailing Alone Around the World', author: 'Joshua Slocum', price: 14.9, stock: 3 },
        { title: 'South', author: 'Ernest Shackleton', price: 16, stock: 1 },
        { title: 'Das Meer', author: 'Jules Michelet', price: 28, stock: 2 }
      ])
    },
    answer: [
      'Three that stand on our shelf:',
      '',
      '1. *Sailing Alone Around the World*, Joshua Slocum (14.90 €): one man, one boat, dry humour.',
      '2. *South*, Ernest Shackleton (16.00 €): shipwreck in the ice, and everybody comes home.',
      '3. *Das Meer*, Jules Michelet (28.00 €): no journey, but the sea itself.'
    ].join('\n')
  },
  {
    question: 'Slocum, please. Can you wrap it and send it by Friday?',
    thinking: 'Reserve one copy. Delivery in two days is possible until noon, so Friday works. Confirm the address.',
    tool: {
      name: 'reserve',
      input: { title: 'Sailing Alone Around the World', copies: 1, wrap: true },
      result: '{"reservation":"R-20711","pickup":"today","delivery":"Thursday"}'
    },
    answer: 'Reserved (R-20711) and wrapped: it leaves today and arrives on **Thursday**. To which address shall it go?'
  }
]

/** What was said in these turns, as the provider's interface has it. */
function saidIn(turns: readonly Turn[]): object[] {
  return turns.flatMap(({ question, thinking, tool, answer }, i) => {
    const id = `toolu_${i}`
    const used =
      tool === undefined
        ? []
        : [
            {
              role: 'assistant',
              content: [
                { type: 'thinking', thinking },
                { type: 'tool_use', id, name: tool.name, input: tool.input }
              ]
            },
            { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: tool.result }] }
          ]
    const last = tool === undefined ? [{ type: 'thinking', thinking }] : []
    return [
      { role: 'user', content: question },
      ...used,
      { role: 'assistant', content: [...last, { type: 'text', text: answer }] }
    ]
  })
}

/** A trace for each turn, in one session, at these times. */
export function conversation(times: readonly Clock[]): DemoTrace[] {
  return times.map((at, i) => {
    const { question, answer, tool } = TURNS[i]!
    const said = saidIn(TURNS.slice(0, i + 1))
    const [root, before] = [spanId(), { messages: said.slice(0, -1), system: SYSTEM }]
    const [input, output] = [420 + 610 * i, 90 + 55 * i]
    const toolSpan = tool && {
      ...{ id: spanId(), parentSpanId: root, name: tool.name, kind: 'tool' as const, status: 'ok' as const },
      ...{ startedAt: at(1_180), endedAt: at(1_320), input: tool.input, output: JSON.parse(tool.result) }
    }
    return {
      body: {
        schemaVersion: 1,
        trace: {
          ...{ id: traceId(), name: 'bookseller', status: 'ok', startedAt: at(0), endedAt: at(4_010 + 400 * i) },
          ...{ ...MODEL, sessionId: 'demo-chat-2', userId: 'demo-customer-11', tags: ['demo', 'chat'] },
          ...{
            input: question,
            output: answer,
            usage: tokens(input, output),
            costUsd: (input * 5 + output * 25) / 1e6
          },
          spans: [
            {
              ...{
                id: root,
                name: 'turn',
                kind: 'chain',
                status: 'ok',
                startedAt: at(0),
                endedAt: at(4_000 + 400 * i)
              },
              ...{ input: question, output: answer }
            },
            ...(toolSpan ? [toolSpan] : []),
            {
              ...{ id: spanId(), parentSpanId: root, name: 'messages claude-opus-4-5', kind: 'llm', status: 'ok' },
              ...{ ...MODEL, startedAt: at(toolSpan ? 1_340 : 20), endedAt: at(3_990 + 400 * i), input: before },
              output: said.at(-1),
              ...{ usage: tokens(input, output), costUsd: (input * 5 + output * 25) / 1e6 },
              attributes: { 'gen_ai.request.max_tokens': 1024, 'thinking.budget_tokens': 2048 }
            }
          ]
        }
      },
      scores: i < 2 ? [] : [{ name: 'helpfulness', dataType: 'numeric', value: 0.97, comment: 'Sold.' }]
    }
  })
}
