/** The thread that reads a backup for a restore (lib/moving/backup/reading-thread.ts). */
import { on } from 'node:events'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { AdminError } from '../lib/admin-error.ts'
import { type DecodedLine, decodeLines } from '../lib/moving/backup/decoded-lines.ts'
import { readBackup } from '../lib/moving/backup/read-backup.ts'
import type { FromThread, ToThread } from '../lib/moving/backup/reading-thread.ts'

const port = parentPort as MessagePort
const send = (message: FromThread, moved: readonly ArrayBuffer[] = []) => port.postMessage(message, moved)

/** Yields the chunks that the main thread sends. One more is under way while a chunk is read. */
async function* received(): AsyncGenerator<Uint8Array, void, undefined> {
  const messages = on(port, 'message') as AsyncIterable<[ToThread]>
  send('more')
  send('more')
  for await (const [chunk] of messages) {
    if (chunk === undefined) return
    yield chunk
    send('more')
  }
}

/** Returns the memory of a line that only this line uses, to move it instead of copying it. */
function memoryOf(line: DecodedLine): ArrayBuffer[] {
  if (line.name === 'trace') return owned([line.value.bytes])
  if (line.name !== 'rows' || line.value === null) return []
  const { page, traces } = line.value
  const rows = new Set(traces.map(trace => trace.rows.bytes.buffer as ArrayBuffer))
  return [...rows, ...owned([page.traces, page.spans, page.scores])]
}

const owned = (all: readonly Uint8Array[]): ArrayBuffer[] =>
  all.flatMap(({ buffer, byteLength }) =>
    buffer instanceof ArrayBuffer && byteLength > 0 && byteLength === buffer.byteLength ? [buffer] : []
  )

try {
  for await (const line of decodeLines(readBackup(received()), workerData)) send(line, memoryOf(line))
} catch (error) {
  if (!(error instanceof AdminError)) throw error
  send({ fault: error.message })
}
