/**
 * Reads a backup on another thread, which unpacks, hashes and decodes it while this thread writes what came before. The
 * thread gets the next chunk of the file once all lines before are taken, so it is never far ahead.
 */
import { on, once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { AdminError } from '../../admin-error.ts'
import type { DecodedLine, DecodedPage } from './decoded-lines.ts'

/** A message of the thread: a request for a chunk, a line, or the message of the AdminError that ends the reading. */
export type FromThread = 'more' | DecodedLine | { readonly fault: string }
/** A message to the thread: a chunk, or undefined at the end. */
export type ToThread = Uint8Array<ArrayBuffer> | undefined

/** Yields the lines of a backup. Pages are decoded if they belong to the project with this slug, or all by default. */
export async function* readOnThread(
  source: AsyncIterable<Uint8Array>,
  slug?: string
): AsyncGenerator<DecodedLine, void, undefined> {
  const chunks = source[Symbol.asyncIterator]()
  const thread = new Worker(new URL('../../../workers/read-backup.js', import.meta.url), { workerData: slug })
  // If the thread fails, the loop below throws its error.
  const exited = once(thread, 'exit').catch(() => {})
  const send = (chunk: ToThread) => thread.postMessage(chunk, chunk === undefined ? [] : [chunk.buffer])
  let failure: { readonly error: unknown } | undefined
  const next = async (): Promise<ToThread> => {
    try {
      const { done, value } = await chunks.next()
      return done ? undefined : new Uint8Array(value)
    } catch (error) {
      failure = { error }
      return undefined
    }
  }
  try {
    for await (const [message] of on(thread, 'message', { close: ['exit'] }) as AsyncIterable<[FromThread]>) {
      if (message === 'more') send(await next())
      else if ('fault' in message) throw failure === undefined ? new AdminError(message.fault) : failure.error
      else yield message.name === 'rows' ? { name: 'rows', value: message.value && received(message.value) } : message
    }
    // All lines that came before a failure of the source have been taken.
    if (failure !== undefined) throw failure.error
  } finally {
    // The thread ends at the end of its source. It is not terminated, because Node 20 aborts the process if a thread is
    // terminated while it loads its code.
    send(undefined)
    await exited
    await chunks.return?.()
  }
}

/** Buffers arrive as plain arrays of bytes. */
const received = ({ page: { traces, spans, scores }, ...others }: DecodedPage): DecodedPage => ({
  ...others,
  page: { traces: bufferOf(traces), spans: bufferOf(spans), scores: bufferOf(scores) }
})
const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer => Buffer.from(buffer, byteOffset, byteLength)
