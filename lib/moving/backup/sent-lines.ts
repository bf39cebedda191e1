/**
 * Implements the thread of a restore: reads a backup from the chunks that the main thread sends, and sends the lines
 * back (lib/moving/backup/reading-thread.ts).
 */
import { on } from 'node:events'
import type { MessagePort } from 'node:worker_threads'
import { AdminError } from '../../admin-error.ts'
import { type DecodedLine, decodeLines } from './decoded-lines.ts'
import { readBackup } from './read-backup.ts'
import type { FromThread, ToThread } from './reading-thread.ts'

/** Sends the lines of a backup. Only an AdminError is sent; other errors end the thread. */
export async function sendLines(port: MessagePort, slug: string | undefined): Promise<void> {
  const send = (message: FromThread, moved: readonly ArrayBuffer[] = []) => port.postMessage(message, moved)
  try {
    for await (const line of decodeLines(readBackup(received(port)), slug)) send(line, memoryOf(line))
  } catch (error) {
    if (!(error instanceof AdminError)) throw error
    send({ fault: error.message })
  }
}

const MORE: FromThread = 'more'

/** Yields the chunks that the main thread sends. One more is under way while a chunk is read. */
async function* received(port: MessagePort): AsyncGenerator<Uint8Array, void, undefined> {
  const messages = on(port, 'message') as AsyncIterable<[ToThread]>
  port.postMessage(MORE)
  port.postMessage(MORE)
  for await (const [chunk] of messages) {
    if (chunk === undefined) return
    yield chunk
    port.postMessage(MORE)
  }
}

/** Returns the memory that only this line uses, to move it instead of copying it. Pages are in shared memory. */
function memoryOf(line: DecodedLine): ArrayBuffer[] {
  if (line.name !== 'trace') return []
  const { buffer, byteLength } = line.value.bytes
  const isOwn = buffer instanceof ArrayBuffer && byteLength > 0 && byteLength === buffer.byteLength
  return isOwn ? [buffer] : []
}
