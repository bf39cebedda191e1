/** Reads responses from Google's Gemini API, whole and streamed. */
import type { Answered, CallBody, Collector } from '../model-call.ts'
import { isRecord, recordsIn } from './merge.ts'
import { defined, tokenCount } from './usage.ts'

export function readGemini(body: CallBody): Answered {
  const { responseId, modelVersion, usageMetadata, promptFeedback } = body
  const candidates = recordsIn(body.candidates)
  const contents = candidates.map(({ content }) => content).filter(isRecord)
  const reasons = candidates.map(({ finishReason }) => finishReason).filter(Boolean)
  const usage = isRecord(usageMetadata) ? usageMetadata : {}
  const thoughts = tokenCount(usage.thoughtsTokenCount)
  return {
    output: contents.length < 2 ? contents[0] : contents,
    model: modelVersion,
    usage: defined({
      inputTokens: sum(usage.promptTokenCount, usage.toolUsePromptTokenCount),
      // `candidatesTokenCount` excludes thoughts.
      outputTokens: sum(usage.candidatesTokenCount, thoughts),
      totalTokens: tokenCount(usage.totalTokenCount)
    }),
    attributes: defined({
      'response.id': responseId,
      finish_reason: reasons.length > 0 ? reasons.join(', ') : undefined,
      prompt_feedback: promptFeedback,
      cache_read_input_tokens: tokenCount(usage.cachedContentTokenCount),
      reasoning_tokens: thoughts
    })
  }
}

/** Returns the sum of the values that are counts; undefined if there are none. */
function sum(...values: readonly unknown[]): number | undefined {
  const counts = values.map(tokenCount).filter(count => count !== undefined)
  return counts.length === 0 ? undefined : counts.reduce((all, count) => all + count, 0)
}

export function collectGemini(): Collector {
  const whole: CallBody = {}
  const candidates = new Map<number, CallBody>()
  return {
    add(chunk) {
      for (const name of ['responseId', 'modelVersion', 'usageMetadata', 'promptFeedback']) {
        if (chunk[name]) whole[name] = chunk[name]
      }
      for (const { index = 0, content, finishReason } of recordsIn(chunk.candidates)) {
        const candidate = candidates.get(index) ?? {}
        candidates.set(index, candidate)
        if (finishReason) candidate.finishReason = finishReason
        if (!isRecord(content)) continue
        candidate.content ??= { role: content.role ?? 'model', parts: [] }
        for (const part of recordsIn(content.parts)) addPart(candidate.content.parts, part)
      }
    },
    answered() {
      const ordered = [...candidates].sort(([a], [b]) => a - b)
      return readGemini({ ...whole, candidates: ordered.map(([, candidate]) => candidate) })
    }
  }
}

/** Adjacent texts, and adjacent thoughts, are pieces of one part. */
function addPart(parts: CallBody[], { ...part }: CallBody): void {
  const last = parts.at(-1)
  const isContinued = typeof part.text === 'string' && typeof last?.text === 'string' && part.thought === last.thought
  if (!isContinued) parts.push(part)
  else Object.assign(last, part, { text: last.text + part.text })
}
