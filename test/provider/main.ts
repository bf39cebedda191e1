/**
 * Runs the fake provider as a separate process, for tests in other languages. It prints one line of JSON with its
 * address and its responses, and runs until it is killed.
 */
import { ANSWER, CHAT_USAGE, EMBEDDING_TOKENS } from './facts.ts'
import { startProvider } from './provider.ts'

const { url } = await startProvider()
console.log(JSON.stringify({ url, answer: ANSWER, chatUsage: CHAT_USAGE, embeddingTokens: EMBEDDING_TOKENS }))
