/** Reads responses from Amazon Bedrock's Converse API, whole and streamed. */
import type { Answered, CallBody, Collector } from '../model-call.ts'
import { isRecord } from './merge.ts'
import { defined, tokenCount } from './usage.ts'

export function readConverse({ output, stopReason, usage: given }: CallBody): Answered {
  const usage = isRecord(given) ? given : {}
  const [read, written] = [tokenCount(usage.cacheReadInputTokens), tokenCount(usage.cacheWriteInputTokens)]
  const input = tokenCount(usage.inputTokens)
  return {
    output: output?.message,
    usage: defined({
      // `inputTokens` excludes tokens written to or read from the cache.
      inputTokens: input === undefined ? undefined : input + (read ?? 0) + (written ?? 0),
      outputTokens: tokenCount(usage.outputTokens),
      totalTokens: tokenCount(usage.totalTokens)
    }),
    attributes: defined({
      stop_reason: stopReason,
      cache_read_input_tokens: read,
      cache_creation_input_tokens: written
    })
  }
}

export function collectConverse(): Collector {
  const whole: CallBody = {}
  const blocks = new Map<number, CallBody>()
  let role = 'assistant'
  const blockAt = (index: number) => {
    if (!blocks.has(index)) blocks.set(index, {})
    return blocks.get(index)
  }
  return {
    add({ messageStart, contentBlockStart, contentBlockDelta, messageStop, metadata }) {
      if (messageStart) role = messageStart.role ?? role
      else if (contentBlockStart) {
        const { toolUse } = contentBlockStart.start ?? {}
        if (toolUse) blockAt(contentBlockStart.contentBlockIndex).toolUse = { ...toolUse, input: '' }
      } else if (contentBlockDelta)
        addDelta(blockAt(contentBlockDelta.contentBlockIndex), contentBlockDelta.delta ?? {})
      else if (messageStop) whole.stopReason = messageStop.stopReason
      else if (metadata) whole.usage = metadata.usage
    },
    answered() {
      const content = [...blocks].sort(([a], [b]) => a - b).map(([, block]) => finished(block))
      return readConverse({ ...whole, output: content.length > 0 ? { message: { role, content } } : undefined })
    }
  }
}

function addDelta(block: CallBody, { text, toolUse, reasoningContent }: CallBody): void {
  if (typeof text === 'string') block.text = (block.text ?? '') + text
  if (toolUse) {
    block.toolUse ??= { input: '' }
    block.toolUse.input += toolUse.input ?? ''
  }
  if (reasoningContent) {
    block.reasoningContent ??= { reasoningText: {} }
    const { reasoningText } = block.reasoningContent
    if (reasoningContent.text) reasoningText.text = (reasoningText.text ?? '') + reasoningContent.text
    if (reasoningContent.signature) reasoningText.signature = reasoningContent.signature
  }
}

/** Parses the JSON of a tool's input, which arrives in pieces. Incomplete JSON stays text. */
function finished({ toolUse, ...block }: CallBody): CallBody {
  if (toolUse === undefined) return block
  try {
    return { ...block, toolUse: { ...toolUse, input: toolUse.input === '' ? {} : JSON.parse(toolUse.input) } }
  } catch {
    return { ...block, toolUse }
  }
}
