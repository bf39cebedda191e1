/** Each recorded exchange of test/fixtures/wires, through the provider's own library, is recorded as expected. */
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import t from 'tap'
import type { Spoor } from '../../../../clients/typescript/index.ts'
import { wrapAnthropic } from '../../../../clients/typescript/wrap/anthropic.ts'
import { wrapOpenAI } from '../../../../clients/typescript/wrap/openai.ts'
import {
  compareStep,
  consume,
  type Framing,
  readWires,
  SERVER_SENT_EVENTS,
  startRecording,
  startWires
} from '../../../fixtures/wires/exchanges.ts'

// biome-ignore lint/suspicious/noExplicitAny: requests come from files.
type Json = any

interface Api {
  readonly framing: Framing
  /** Returns a function that calls the wrapped library. */
  wrap(url: string, spoor: Spoor): (request: Json) => Promise<unknown>
}

const settings = { apiKey: 'none', maxRetries: 0 }
const openai = (url: string, spoor: Spoor) => wrapOpenAI(new OpenAI({ ...settings, baseURL: `${url}/v1` }), spoor)

const APIS: Readonly<Record<string, Api>> = {
  'openai-chat': {
    framing: { ...SERVER_SENT_EVENTS, close: 'data: [DONE]\n\n' },
    wrap(url, spoor) {
      const client = openai(url, spoor)
      return async request => client.chat.completions.create(request)
    }
  },
  'openai-responses': {
    framing: SERVER_SENT_EVENTS,
    wrap(url, spoor) {
      const client = openai(url, spoor)
      return async request => client.responses.create(request)
    }
  },
  anthropic: {
    framing: SERVER_SENT_EVENTS,
    wrap(url, spoor) {
      const client = wrapAnthropic(new Anthropic({ ...settings, baseURL: url }), spoor)
      return async request => client.messages.create(request)
    }
  }
}

for (const [api, { framing, wrap }] of Object.entries(APIS)) {
  t.test(api, async t => {
    const { url, answer } = await startWires(t, framing)
    const { spoor, recorded } = await startRecording(t)
    const call = wrap(url, spoor)
    for (const exchange of readWires(api)) {
      t.test(exchange.name, async t => {
        answer(exchange)
        const act = async () => consume(await call(exchange.request), exchange.leaveAfter)
        const error = await spoor.trace('exchange', () =>
          act().then(
            () => undefined,
            error => error
          )
        )
        const isFailure =
          exchange.expected.status === 'error' && (exchange.body === undefined || exchange.status !== undefined)
        if (!isFailure) t.equal(error, undefined)
        const { spans } = await recorded(t)
        t.equal(spans.length, 1)
        compareStep(t, spans[0], exchange)
      })
    }
  })
}
