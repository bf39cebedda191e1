/**
 * Writes the log to stderr: JSON lines or human-readable text, with one line per request unless LOG_REQUESTS selects
 * fewer requests. A line never contains a secret, a key or a body. stdout is for command output, such as the address
 * and first key from `spoor serve`.
 */
import { type DestinationStream, type Logger, pino } from 'pino'
import { nameCommands } from './command-names.ts'
import { logText } from './log-text.ts'

export type { Logger }

/**
 * Limits of the buffer: lines are written together after this time, or sooner if this number of characters is waiting.
 */
const GATHER_MS = 50
const GATHER_LENGTH = 32_768

/** Selects the requests to log. `errors` logs responses with status 400 and above; `slow` adds slow requests. */
export type LoggedRequests = 'all' | 'errors' | 'slow' | 'none'

export interface LogOptions {
  /** Format of the log; defaults to JSON. */
  readonly format?: 'text' | 'json' | undefined
  readonly requests?: LoggedRequests
  /** The command that replaces `spoor` in backticks. */
  readonly command?: string
}

/** Time in ms beyond which a request counts as slow. */
const SLOW_MS = 1000

/** Creates a logger that writes to stderr, or to `destination`. `level` is a pino level, including `silent`. */
export function createLog(level: string, destination?: DestinationStream, options: LogOptions = {}): Logger {
  const { format, requests = 'all', command = 'spoor' } = options
  const raw = destination ?? stderr()
  const stream = format === 'text' ? { write: (line: string) => raw.write(logText(line)) } : raw
  const formatters = { level: (label: string) => ({ level: label }) }
  const inJson = JSON.stringify(command).slice(1, -1)
  const named = command === 'spoor' ? stream : { write: (line: string) => stream.write(nameCommands(line, inJson)) }
  const log = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters }, named)
  made.set(log, { stream, requests })
  return log
}

/** The stream of each log created by createLog, and the requests that each log includes. */
const made = new WeakMap<Logger, { readonly stream: DestinationStream; readonly requests: LoggedRequests }>()

export interface RequestFields {
  readonly requestId: string
  readonly method: string | undefined
  readonly path: string
  /** The operation's name; undefined if no route matched. */
  readonly route: string | undefined
  readonly status: number
  /** The refusal's code, if the request was refused. */
  readonly code?: string | undefined
  readonly ms: number
  readonly bytesIn: number
  readonly bytesOut: number
  readonly client: string
  /** The key or person (`user`) that made the request, and the project. */
  readonly keyId: string | undefined
  /** The key's label; may be empty. */
  readonly keyLabel: string | undefined
  readonly user: number | undefined
  readonly project: number | undefined
}

/**
 * Writes a request's line to a log from createLog. The line is identical to pino's, but is assembled by hand, because
 * pino does not know the fields in advance and would take twice as long.
 */
export function logRequest(log: Logger, fields: RequestFields): void {
  const own = made.get(log)
  const { requestId, method, path, route, status, code, ms, bytesIn, bytesOut, client } = fields
  if (own === undefined || !log.isLevelEnabled('info') || !isWanted(own.requests, status, ms)) return
  const { keyId, keyLabel, user, project } = fields
  let line = `{"level":"info","time":"${isoTime()}","requestId":"${requestId}","method":"${method}","path":`
  line += JSON.stringify(path)
  if (route !== undefined) line += `,"route":"${route}"`
  line += `,"status":${status}`
  if (code !== undefined) line += `,"code":"${code}"`
  line += `,"ms":${ms},"bytesIn":${bytesIn},"bytesOut":${bytesOut},"client":"${client}"`
  if (keyId !== undefined) line += `,"keyId":"${keyId}"`
  if (keyLabel) line += `,"keyLabel":${JSON.stringify(keyLabel)}`
  if (user !== undefined) line += `,"user":${user}`
  if (project !== undefined) line += `,"project":${project}`
  own.stream.write(`${line},"msg":"request"}\n`)
}

function isWanted(requests: LoggedRequests, status: number, ms: number): boolean {
  if (requests === 'all') return true
  return requests !== 'none' && (status >= 400 || (requests === 'slow' && ms >= SLOW_MS))
}

let spelled = { ms: Number.NaN, text: '' }

/** Returns the time as a string, cached because many requests are answered within the same millisecond. */
function isoTime(): string {
  const ms = Date.now()
  if (ms !== spelled.ms) spelled = { ms, text: new Date(ms).toISOString() }
  return spelled.text
}

let gathered: DestinationStream | undefined

/**
 * Returns a stream that buffers lines and writes them to stderr. No request waits for the terminal or the disk. Writing
 * each line separately would wake a thread every time, which costs CPU time (test/bench/RESULTS.md, "Writing the log").
 */
function stderr(): DestinationStream {
  gathered ??= gather()
  return gathered
}

function gather(): DestinationStream {
  const stream = pino.destination({ dest: 2, sync: false })
  let lines = ''
  let timer: NodeJS.Timeout | undefined
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    stream.write(lines)
    lines = ''
  }
  process.on('exit', () => {
    stream.flushSync()
    // The write is synchronous, because the process would not wait for an asynchronous write at this point.
    if (lines !== '') pino.destination({ dest: 2, sync: true }).write(lines)
  })
  return {
    write(line) {
      lines += line
      if (lines.length > GATHER_LENGTH) flush()
      else timer ??= setTimeout(flush, GATHER_MS).unref()
    }
  }
}
