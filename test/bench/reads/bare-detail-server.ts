/**
 * The baseline for a trace's detail: the driver alone runs the same SQL, and then node:http sends the same bytes. The
 * parent process tells this process what to serve, and this process reports its port.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connectTo, type DatabaseTarget } from '../../../lib/database/connection.ts'
import { Pool } from '../../../lib/database/pool.ts'
import { READER_SETTINGS } from '../../../lib/database/reader-settings.ts'
import { selectTraceDetail } from '../../../lib/store/answers/traces.ts'

export interface BareDetail {
  readonly target: DatabaseTarget
  readonly projectId: number
  readonly traceId: string
  /** The service's response. */
  readonly text: string
}

const CONNECTIONS = 6

const [{ target, projectId, traceId, text }] = (await once(process, 'message')) as [BareDetail]
const readers = new Pool(onClose => connectTo(target, { onClose, settings: READER_SETTINGS }), { size: CONNECTIONS })
const bytes = Buffer.from(text)
const headers = { 'content-type': 'application/json', 'content-length': bytes.length, 'cache-control': 'no-store' }

const server = createServer((_request, response) => {
  readers
    .run(sql => selectTraceDetail(sql, projectId, traceId))
    .then(rows => response.writeHead(rows.length > 0 ? 200 : 404, headers).end(bytes))
})
server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port))
process.on('disconnect', () => process.exit())
process.on('SIGINT', () => {})
