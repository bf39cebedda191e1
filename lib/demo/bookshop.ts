/** Traces of a bookshop's assistant: a run of an agent, a search, a failure, a reply that is streamed, one that is running. */
import { type Clock, type DemoTrace, spanId, tokens, traceId } from './parts.ts'

const PROVIDER = 'anthropic'
const MODEL = 'claude-sonnet-4-5'
const EMBEDDING_MODEL = 'text-embedding-3-small'

/** An agent that plans, looks things up, calls a tool and answers. Scores are given to it afterwards. */
export function supportRun(at: Clock): DemoTrace {
  const agent = spanId()
  const retrieval = spanId()
  const question = 'Where is my order 48213? It should have been here on Friday.'
  const answer =
    'Your order left our warehouse on Thursday and is due tomorrow before noon. I have waived the delivery fee.'
  return {
    body: {
      schemaVersion: 1,
      trace: {
        id: traceId(),
        name: 'support-agent',
        status: 'ok',
        startedAt: at(0),
        endedAt: at(4210),
        provider: PROVIDER,
        model: MODEL,
        sessionId: 'demo-chat-1',
        userId: 'demo-customer-7',
        tags: ['demo', 'support'],
        input: { question },
        output: { answer },
        metadata: { release: '2.14.0', channel: 'web' },
        usage: tokens(2318, 214),
        costUsd: 0.010164,
        spans: [
          {
            id: agent,
            name: 'answer the customer',
            kind: 'agent',
            status: 'ok',
            startedAt: at(0),
            endedAt: at(4205),
            input: { question },
            output: { answer },
            attributes: { 'agent.steps': 3 }
          },
          {
            id: spanId(),
            parentSpanId: agent,
            name: 'plan',
            kind: 'llm',
            status: 'ok',
            startedAt: at(12),
            endedAt: at(1130),
            provider: PROVIDER,
            model: MODEL,
            input: [
              { role: 'system', content: 'You help customers of a small bookshop. Look things up before you answer.' },
              { role: 'user', content: question }
            ],
            output: { role: 'assistant', toolCalls: [{ name: 'lookup_order', arguments: { order: 48213 } }] },
            attributes: { temperature: 0.2 },
            usage: tokens(612, 48),
            costUsd: 0.002556
          },
          {
            id: retrieval,
            parentSpanId: agent,
            name: 'search the delivery policy',
            kind: 'retriever',
            status: 'ok',
            startedAt: at(1135),
            endedAt: at(1342),
            input: { query: 'late delivery compensation', topK: 3 },
            output: [
              { id: 'policy-12', score: 0.83, text: 'A parcel more than two days late travels free of charge.' },
              { id: 'policy-4', score: 0.61, text: 'Orders leave the warehouse within 24 hours.' }
            ]
          },
          {
            id: spanId(),
            parentSpanId: agent,
            name: 'lookup_order',
            kind: 'tool',
            status: 'ok',
            startedAt: at(1138),
            endedAt: at(1980),
            input: { order: 48213 },
            output: { status: 'in transit', carrier: 'DHL', due: 'tomorrow 12:00' },
            attributes: { 'http.status_code': 200 },
            events: [{ name: 'retry', timestamp: at(1510), attributes: { reason: 'timeout', attempt: 2 } }]
          },
          {
            id: spanId(),
            parentSpanId: agent,
            name: 'answer',
            kind: 'llm',
            status: 'ok',
            startedAt: at(1990),
            endedAt: at(4190),
            provider: PROVIDER,
            model: MODEL,
            input: [{ role: 'user', content: question }],
            output: { role: 'assistant', content: answer },
            events: [{ name: 'first token', timestamp: at(2480) }],
            usage: tokens(1706, 166),
            costUsd: 0.007608
          }
        ]
      }
    },
    scores: [
      { name: 'helpfulness', dataType: 'numeric', value: 0.92, comment: 'Answers the question and offers something.' },
      { name: 'verdict', dataType: 'categorical', value: 'correct' },
      { name: 'resolved', dataType: 'boolean', value: true },
      { name: 'relevance', dataType: 'numeric', value: 0.8, spanId: retrieval }
    ]
  }
}

/** Embedding, retrieval and reranking in a chain. */
export function handbookSearch(at: Clock): DemoTrace {
  const chain = spanId()
  const query = 'How long may a book be returned?'
  return {
    body: {
      schemaVersion: 1,
      trace: {
        id: traceId(),
        name: 'handbook-search',
        status: 'ok',
        startedAt: at(0),
        endedAt: at(318),
        model: EMBEDDING_MODEL,
        sessionId: 'demo-chat-1',
        userId: 'demo-customer-7',
        tags: ['demo', 'search'],
        input: query,
        output: ['handbook-7', 'handbook-31'],
        usage: tokens(9, 0),
        costUsd: 0.0000002,
        spans: [
          { id: chain, name: 'search', kind: 'chain', status: 'ok', startedAt: at(0), endedAt: at(316), input: query },
          {
            id: spanId(),
            parentSpanId: chain,
            name: 'embed the query',
            kind: 'embedding',
            status: 'ok',
            startedAt: at(3),
            endedAt: at(88),
            provider: 'openai',
            model: EMBEDDING_MODEL,
            input: query,
            output: { dimensions: 1536 },
            usage: tokens(9, 0),
            costUsd: 0.0000002
          },
          {
            id: spanId(),
            parentSpanId: chain,
            name: 'nearest passages',
            kind: 'retriever',
            status: 'ok',
            startedAt: at(90),
            endedAt: at(131),
            input: { topK: 20 },
            output: { found: 20 }
          },
          {
            id: spanId(),
            parentSpanId: chain,
            name: 'rerank',
            kind: 'reranker',
            status: 'ok',
            startedAt: at(133),
            endedAt: at(312),
            provider: 'cohere',
            model: 'rerank-v3.5',
            input: { query, candidates: 20 },
            output: [
              { id: 'handbook-7', score: 0.97 },
              { id: 'handbook-31', score: 0.42 }
            ],
            attributes: { 'reranker.top_n': 2 }
          }
        ]
      }
    },
    scores: [{ name: 'helpfulness', dataType: 'numeric', value: 0.74 }]
  }
}

/** A model call that fails, and the run with it. */
export function failedSummary(at: Clock): DemoTrace {
  const message = 'prompt is too long: 214512 tokens, the most is 200000'
  return {
    body: {
      schemaVersion: 1,
      trace: {
        id: traceId(),
        name: 'summarise-contract',
        status: 'error',
        startedAt: at(0),
        endedAt: at(905),
        provider: PROVIDER,
        model: MODEL,
        userId: 'demo-editor-2',
        tags: ['demo', 'summary'],
        input: { document: 'contract-2031.pdf', pages: 412 },
        metadata: { release: '2.14.0' },
        spans: [
          {
            id: spanId(),
            name: 'read the document',
            kind: 'tool',
            status: 'ok',
            startedAt: at(2),
            endedAt: at(640),
            output: { characters: 871_340 }
          },
          {
            id: spanId(),
            name: 'summarise',
            kind: 'llm',
            status: 'error',
            startedAt: at(645),
            endedAt: at(902),
            provider: PROVIDER,
            model: MODEL,
            attributes: { 'error.type': 'invalid_request_error' },
            events: [{ name: 'exception', timestamp: at(901), attributes: { message } }]
          }
        ]
      }
    }
  }
}

/** A trace that is recorded while it runs: started, appended to, and ended. */
export function streamedReply(at: Clock): DemoTrace {
  return {
    body: {
      schemaVersion: 1,
      trace: {
        id: traceId(),
        name: 'draft-newsletter',
        startedAt: at(0),
        provider: PROVIDER,
        model: MODEL,
        tags: ['demo', 'writing'],
        input: 'Three new books for the spring newsletter, please.'
      }
    },
    appended: [
      {
        id: spanId(),
        name: 'choose the books',
        kind: 'llm',
        status: 'ok',
        startedAt: at(20),
        endedAt: at(2100),
        provider: PROVIDER,
        model: MODEL,
        usage: tokens(940, 120),
        costUsd: 0.00462
      }
    ],
    end: {
      schemaVersion: 1,
      status: 'ok',
      endedAt: at(5600),
      output: 'Spring is for reading in the garden: three books to take with you.',
      usage: tokens(2210, 530),
      costUsd: 0.01458,
      spans: [
        {
          id: spanId(),
          name: 'write the text',
          kind: 'llm',
          status: 'ok',
          startedAt: at(2110),
          endedAt: at(5580),
          provider: PROVIDER,
          model: MODEL,
          usage: tokens(1270, 410),
          costUsd: 0.00996
        }
      ]
    },
    scores: [{ name: 'tone', dataType: 'categorical', value: 'friendly' }]
  }
}

/** A trace that is still running: some of its spans have arrived, and it has not ended. */
export function runningResearch(at: Clock): DemoTrace {
  return {
    body: {
      schemaVersion: 1,
      trace: {
        id: traceId(),
        name: 'research-suppliers',
        startedAt: at(0),
        provider: PROVIDER,
        model: MODEL,
        userId: 'demo-editor-2',
        tags: ['demo', 'research'],
        input: { task: 'Compare three printers for a run of 2,000 copies.' }
      }
    },
    appended: [
      {
        id: spanId(),
        name: 'plan',
        kind: 'llm',
        status: 'ok',
        startedAt: at(15),
        endedAt: at(1800),
        provider: PROVIDER,
        model: MODEL,
        usage: tokens(410, 96),
        costUsd: 0.00267
      },
      {
        id: spanId(),
        name: 'web_search',
        kind: 'tool',
        status: 'ok',
        startedAt: at(1810),
        endedAt: at(3920),
        input: { query: 'book printer small run quote' },
        output: { results: 8 }
      }
    ]
  }
}
