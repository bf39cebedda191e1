/** The servers that the benchmark compares: this service and its peers. */
import type { OtlpEndpoint } from '../load/load.ts'
import type { Service } from '../machine/service.ts'

export interface OtlpServer {
  readonly name: string
  readonly port: number
  readonly endpoint: OtlpEndpoint
  /** Process whose CPU time, with that of its descendants, is the server's. */
  readonly pid: number
  /** PostgreSQL's process; undefined if the server stores traces in files of its own. */
  readonly postmasterPid: number | undefined
  /** Requests a trace from the server's own API, and returns the number of its spans; 0 if the trace is unknown. */
  readSpans(traceId: string): Promise<number>
  /** Returns the bytes of the stored traces and their indexes, without PostgreSQL's WAL. */
  readDiskBytes(): Promise<number>
}

/** A server that the benchmark installed and started for a comparison. */
export interface Peer extends OtlpServer {
  readonly version: string
  /** Settings that affect the figures, in sentences. */
  readonly settings: readonly string[]
  /** Commands that installed and started the server, as typed in a shell. */
  readonly commands: readonly string[]
}

/** Reads a JSON response. Returns undefined if the status is not 200, as for a trace that cannot be read yet. */
export async function readJson(url: string, headers: Record<string, string> = {}): Promise<unknown> {
  const response = await fetch(url, { headers })
  if (response.status === 200) return response.json()
  await response.arrayBuffer()
  return undefined
}

/** Describes this service as one of the compared servers. */
export function ownServer({ pid, postmasterPid, port, key, sql }: Service): OtlpServer {
  const headers = { Authorization: `Bearer ${key}` }
  return {
    ...{ name: 'spoor', port, pid, postmasterPid },
    endpoint: { path: '/api/v1/otlp/v1/traces', headers },
    async readSpans(traceId) {
      const body = await readJson(`http://127.0.0.1:${port}/api/v1/traces/${traceId}`, headers)
      return (body as { spans?: unknown[] } | undefined)?.spans?.length ?? 0
    },
    async readDiskBytes() {
      await sql`checkpoint`
      const [row] = await sql<{ bytes: number }[]>`select pg_database_size(current_database())::float8 as bytes`
      return row!.bytes
    }
  }
}
