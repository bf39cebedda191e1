/** Imitates the method generateContent of Google's Gemini, with whole or streamed responses. */
import { type Answer, type Model, resultText } from './answer.ts'
import { CHAT_USAGE, piecesOf } from './facts.ts'
import type { Body, NewId, Reply } from './reply.ts'

export function generateContent(body: Body, newId: NewId, model: Model): Reply {
  return { json: response(partsOf(answerOf(body, model), newId), newId('resp_'), 'STOP') }
}

export function streamGenerateContent(body: Body, newId: NewId, model: Model): Reply {
  const answer = answerOf(body, model)
  const id = newId('resp_')
  const pieces = answer.call === undefined ? piecesOf(answer.text).map(text => [{ text }]) : [partsOf(answer, newId)]
  const last = pieces.length - 1
  return { events: pieces.map((parts, i) => ({ data: response(parts, id, i === last ? 'STOP' : undefined) })) }
}

function answerOf(body: Body, model: Model): Answer {
  const declared: Body[] = (body.tools ?? []).flatMap((tool: Body) => tool.functionDeclarations ?? [])
  const parts: Body[] = body.contents.flatMap((content: Body) => content.parts ?? [])
  return model({
    tools: declared.map(({ name, parameters, parametersJsonSchema }) => ({
      name,
      schema: parametersJsonSchema ?? parameters
    })),
    results: parts.filter(part => part.functionResponse !== undefined).map(part => outputOf(part.functionResponse)),
    mayCall: body.toolConfig?.functionCallingConfig?.mode !== 'NONE',
    schema: body.generationConfig?.responseJsonSchema ?? body.generationConfig?.responseSchema
  })
}

/** By Google's convention, `output` contains a function's result. */
const outputOf = ({ response }: Body) => resultText(response?.output ?? response)

function partsOf({ text, call }: Answer, newId: NewId): object[] {
  return call === undefined ? [{ text }] : [{ functionCall: { id: newId('call_'), name: call.name, args: call.input } }]
}

const response = (parts: readonly object[], responseId: string, finishReason: string | undefined) => ({
  candidates: [{ index: 0, content: { role: 'model', parts }, ...(finishReason && { finishReason }) }],
  usageMetadata: {
    promptTokenCount: CHAT_USAGE.input,
    cachedContentTokenCount: CHAT_USAGE.cached,
    candidatesTokenCount: CHAT_USAGE.output - CHAT_USAGE.reasoning,
    thoughtsTokenCount: CHAT_USAGE.reasoning,
    totalTokenCount: CHAT_USAGE.total
  },
  modelVersion: 'gemini-2.5-pro',
  responseId
})
