/**
 * The fake provider as a process of its own, for tests in other languages: prints one line of JSON, its address and
 * what it will answer, and runs until it is killed.
 */
import { ANSWER, CHAT_USAGE, EMBEDDING_TOKENS } from './facts.ts'
import { startProvider } from './provider.ts'

const { url } = await startProvider()
console.log(JSON.stringify({ url, answer: ANSWER, chatUsage: CHAT_USAGE, embeddingTokens: EMBEDDING_TOKENS }))
