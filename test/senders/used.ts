/** The usage that spoor shows for calls to the fake provider. */
import { CHAT_USAGE } from '../provider/facts.ts'

export const chatsUsed = (calls: number) => ({
  inputTokens: calls * CHAT_USAGE.input,
  outputTokens: calls * CHAT_USAGE.output,
  totalTokens: calls * CHAT_USAGE.total
})
