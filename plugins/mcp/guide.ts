/** The guide for agents, a one-page MCP resource. The text about each tool comes from the tool's route. */
import type { Resource, Tool } from '../../lib/mcp/tool.ts'

interface Recipe {
  readonly question: string
  /** Calls in order. Angle brackets mark values that the agent knows, or reads from the previous result. */
  readonly calls: readonly (readonly [tool: string, args: Readonly<Record<string, unknown>>])[]
  readonly next: string
}

/** The most common questions, and the calls that answer them. */
export const RECIPES: readonly Recipe[] = [
  {
    question: 'Which tool failed most today?',
    calls: [['list_errors', { kind: 'tool', from: '<midnight>' }]],
    next: '`steps` counts failures per tool; read an example with get_trace.'
  },
  {
    question: "Why did a user's last session fail?",
    calls: [
      ['list_sessions', { userId: '<user>', limit: 1 }],
      ['search_traces', { sessionId: '<session>', errors: true }]
    ],
    next: 'firstError shows why; to read the texts, call get_trace with its spanId in `spanIds`.'
  },
  {
    question: 'Why did the cost double on one day?',
    calls: [
      ['get_usage', { interval: 'day', from: '<midnight, a month before>' }],
      ['get_usage', { by: 'name', sort: 'cost', from: '<the day>', to: '<the next day>' }],
      ['search_traces', { sort: 'costliest', from: '<the day>', to: '<the next day>' }]
    ],
    next: 'the first call shows the day; repeat the second for model, user, step or tag:KEY; the third lists the runs.'
  },
  {
    question: 'Which model calls are the slowest?',
    calls: [['list_spans', { kind: 'llm', sort: 'slowest', from: '<a week before>' }]],
    next: 'if nextCursor is null, all traces since then were examined.'
  },
  {
    question: 'Which runs were rated badly?',
    calls: [['search_traces', { score: ['helpfulness<0.5'] }]],
    next: 'to read the comments, call get_trace_scores.'
  },
  {
    question: 'Where does a phrase occur?',
    calls: [['search_traces', { q: '"delivery address"' }]],
    next: '`excerpt` and `moreExcerpts` show where; if search is off, the error explains how to turn it on.'
  },
  {
    question: 'How do two versions of a prompt compare (tags prompt:v12, prompt:v13)?',
    calls: [
      ['get_usage', { by: 'tag:prompt', from: '<before the older version began>' }],
      ['get_usage', { by: 'model', tag: 'prompt:v13', from: '<the same>' }],
      ['list_errors', { tag: 'prompt:v13', from: '<the same>' }]
    ],
    next: 'repeat the last two for prompt:v12. Without `from`, only the last 7 days are included.'
  },
  {
    question: 'Which calls have no price?',
    calls: [
      ['get_usage', { by: 'step', stepKind: 'llm' }],
      ['list_spans', { kind: 'llm', status: 'ok', withoutCost: true }]
    ],
    next: 'a call has tokens but no cost if its model has no price.'
  },
  {
    question: 'Which traces are new since a given time, or belong to one person?',
    calls: [['search_traces', { userId: '<user>', from: '<time>' }]],
    next: 'to copy or erase all of it, a person can use `spoor export` or POST /api/v1/deletions.'
  }
]

/** Parameters that most tools have. */
const COMMON = ['limit', 'after', 'before', 'detail', 'from', 'to', 'offset']

/** Returns the guide to the tools that a key may use. */
export function guideOf(tools: readonly Tool[]): Resource {
  const names = new Set(tools.map(({ listing }) => listing.name))
  const recipes = RECIPES.filter(({ calls }) => calls.every(([tool]) => names.has(tool)))
  const lines = [
    '# spoor: which tool answers which question',
    '',
    'spoor stores traces: records of AI application runs. A trace consists of spans, which are its steps (model calls,',
    'tool calls and others), and can have scores.',
    '',
    '## Tools',
    '',
    ...tools.map(({ listing: { name, title, description, inputSchema } }) => {
      const fields = Object.keys((inputSchema as { properties?: object }).properties ?? {})
      const own = fields.filter(field => !COMMON.includes(field))
      const [answers] = /^Answers [^:]+/.exec(description) ?? [title]
      const parameters = own.length === 0 ? '' : ` (${own.join(', ')})`
      return `- ${name}: ${answers.charAt(0).toLowerCase()}${answers.slice(1)}${parameters}`
    }),
    '',
    '## Rules',
    '',
    '- Names, ids and tags are compared exactly. If nothing is found, `hint` lists the nearest existing values.',
    '- Times are ISO 8601 with a zone, such as 2026-11-21T00:00:00Z. Without times, list_errors and get_usage cover',
    '  the last 7 days, as shown by `from` and `to`; the other tools cover all times.',
    '- Lists and totals are shortened, without null fields; `note` says what else is left out. For more items, raise',
    '  `limit`; for all fields, use `detail` "full". For the next page, call again with `after` set to `nextCursor`,',
    '  until `nextCursor` is null.',
    '- A long trace is returned as an outline of its steps. To read some in full, call get_trace with `spanIds`.',
    ...(recipes.length === 0
      ? []
      : [
          '',
          '## Questions',
          '',
          ...recipes.flatMap(({ question, calls, next }) => [
            `- ${question}`,
            `  ${calls.map(([tool, args]) => `${tool} ${JSON.stringify(args)}`).join(', then ')}; ${next}`
          ])
        ])
  ]
  return {
    uri: 'spoor://guide',
    name: 'guide',
    title: 'Which tool answers which question',
    description: 'The tools, their parameters, and the calls that answer common questions, on one page.',
    mimeType: 'text/markdown',
    text: `${lines.join('\n')}\n`
  }
}
