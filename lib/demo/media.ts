/** A question about a picture, and a recording that is written down. Both files stand in the messages, as they are sent. */
import { png, wav } from './files.ts'
import { type Clock, type DemoTrace, spanId, tokens, traceId } from './parts.ts'

const VISION = { provider: 'google', model: 'gemini-2.5-flash' } as const
const SPEECH = { provider: 'openai', model: 'gpt-4o-audio-preview' } as const

const [WIDTH, HEIGHT] = [240, 150]

/** The sun over the sea, in the evening. */
const sunset = () =>
  png(WIDTH, HEIGHT, (x, y) => {
    const distance = Math.hypot(x - WIDTH / 2, y - 78)
    if (y > 95) return Math.abs(x - WIDTH / 2) < 14 + (y % 9) * 2 ? [232, 150, 88] : [34, 52 - y / 8, 92 - y / 6]
    if (distance < 26) return [255, 226, 150]
    const glow = Math.max(0, 1 - distance / 150)
    return [60 + 180 * glow, 56 + 90 * glow, 110 - 10 * glow + y / 8]
  })

export function pictureQuestion(at: Clock): DemoTrace {
  const question = 'Does this picture suit the cover of a book about sailing alone?'
  const answer = 'Yes. The low sun and the empty horizon speak of solitude; leave the upper third for the title.'
  return {
    body: {
      schemaVersion: 1,
      trace: {
        ...{ id: traceId(), name: 'cover-advice', status: 'ok', startedAt: at(0), endedAt: at(2_730), ...VISION },
        ...{ userId: 'demo-editor-2', tags: ['demo', 'vision'], input: question, output: answer },
        ...{ usage: tokens(1_842, 41), costUsd: 0.000655 },
        spans: [
          {
            ...{ id: spanId(), name: 'generate_content gemini-2.5-flash', kind: 'llm', status: 'ok', ...VISION },
            ...{ startedAt: at(4), endedAt: at(2_724), usage: tokens(1_842, 41), costUsd: 0.000655 },
            input: [
              {
                role: 'user',
                content: [
                  { type: 'text', text: question },
                  { type: 'image_url', image_url: { url: sunset() } }
                ]
              }
            ],
            output: { role: 'assistant', content: answer }
          }
        ]
      }
    },
    scores: [{ name: 'verdict', dataType: 'categorical', value: 'correct' }]
  }
}

/** Two notes, the second higher: a doorbell. */
const doorbell = () =>
  wav(0.8, second => Math.sin(2 * Math.PI * (second < 0.4 ? 659 : 523) * second) * (1 - (second % 0.4) * 2))

export function voiceNote(at: Clock): DemoTrace {
  const answer = 'A doorbell rings twice; nobody speaks.'
  return {
    body: {
      schemaVersion: 1,
      trace: {
        ...{ id: traceId(), name: 'voice-note', status: 'ok', startedAt: at(0), endedAt: at(1_310), ...SPEECH },
        ...{ userId: 'demo-customer-7', tags: ['demo', 'audio'], output: answer },
        ...{ usage: tokens(212, 11), costUsd: 0.00064 },
        spans: [
          {
            ...{ id: spanId(), name: 'chat gpt-4o-audio-preview', kind: 'llm', status: 'ok', ...SPEECH },
            ...{ startedAt: at(3), endedAt: at(1_304), usage: tokens(212, 11), costUsd: 0.00064 },
            input: [
              {
                role: 'user',
                content: [
                  { type: 'text', text: 'What is to be heard here?' },
                  { type: 'input_audio', input_audio: { format: 'wav', data: doorbell() } }
                ]
              }
            ],
            output: { role: 'assistant', content: answer }
          }
        ]
      }
    }
  }
}
