/** Each recorded exchange of test/fixtures/wires, through the provider's own library, is recorded as expected. */
import { crc32 } from 'node:zlib'
import Anthropic from '@anthropic-ai/sdk'
import { BedrockRuntimeClient, ConverseCommand, ConverseStreamCommand } from '@aws-sdk/client-bedrock-runtime'
import { GoogleGenAI } from '@google/genai'
import { Mistral } from '@mistralai/mistralai'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import { Ollama } from 'ollama'
import OpenAI from 'openai'
import t from 'tap'
import type { Spoor } from '../../../../clients/typescript/index.ts'
import { wrapAnthropic } from '../../../../clients/typescript/wrap/anthropic.ts'
import { wrapBedrock } from '../../../../clients/typescript/wrap/bedrock.ts'
import { wrapGemini } from '../../../../clients/typescript/wrap/gemini.ts'
import { wrapMistral } from '../../../../clients/typescript/wrap/mistral.ts'
import { wrapOllama } from '../../../../clients/typescript/wrap/ollama.ts'
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
  },
  'google-genai': {
    framing: SERVER_SENT_EVENTS,
    wrap(url, spoor) {
      const { models } = wrapGemini(new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: url } }), spoor)
      return async ({ stream, ...request }) =>
        stream ? models.generateContentStream(request) : models.generateContent(request)
    }
  },
  mistral: {
    framing: { ...SERVER_SENT_EVENTS, frame: chunk => `data: ${JSON.stringify(chunk)}\n\n`, close: 'data: [DONE]\n\n' },
    wrap(url, spoor) {
      const { chat } = wrapMistral(new Mistral({ apiKey: 'none', serverURL: url }), spoor)
      return async ({ stream, ...request }) => (stream ? chat.stream(request) : chat.complete(request))
    }
  },
  ollama: {
    framing: { type: 'application/x-ndjson', frame: chunk => `${JSON.stringify(chunk)}\n` },
    wrap(url, spoor) {
      const client = wrapOllama(new Ollama({ host: url }), spoor)
      return async request => client.chat(request)
    }
  },
  'bedrock-converse': {
    framing: { type: 'application/vnd.amazon.eventstream', frame: amazonEvent },
    wrap(url, spoor) {
      const credentials = { accessKeyId: 'none', secretAccessKey: 'none' }
      // By default, the client uses HTTP/2.
      const requestHandler = new NodeHttpHandler()
      const options = { region: 'us-east-1', endpoint: url, credentials, maxAttempts: 1, requestHandler }
      const client = wrapBedrock(new BedrockRuntimeClient(options), spoor)
      return async ({ stream, ...request }) => {
        if (!stream) return client.send(new ConverseCommand(request))
        return (await client.send(new ConverseStreamCommand(request))).stream
      }
    }
  }
}

/** Encodes an event of a stream in Amazon's binary format: lengths, headers, payload and checksums. */
function amazonEvent(event: Json): Buffer {
  const [[type, value]] = Object.entries(event) as [[string, unknown]]
  const header = (name: string, text: string) => {
    const length = Buffer.alloc(2)
    length.writeUInt16BE(text.length)
    return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([7]), length, Buffer.from(text)])
  }
  const kind = type.endsWith('Exception') ? 'exception' : 'event'
  const headers = [
    [':message-type', kind],
    [`:${kind}-type`, type],
    [':content-type', 'application/json']
  ] as const
  const encoded = Buffer.concat(headers.map(([name, text]) => header(name, text)))
  const payload = Buffer.from(JSON.stringify(value))
  const prelude = uint32s(encoded.length + payload.length + 16, encoded.length)
  const body = Buffer.concat([prelude, uint32s(crc32(prelude)), encoded, payload])
  return Buffer.concat([body, uint32s(crc32(body))])
}

function uint32s(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length)
  for (const [place, value] of values.entries()) bytes.writeUInt32BE(value, 4 * place)
  return bytes
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
