/**
 * The log on stderr: JSON lines, or text for people, and a line for each request unless LOG_REQUESTS says otherwise. A
 * line never holds a secret, a key or a body. stdout is left to what commands print, such as the address and the first
 * key of `spoor serve`.
 */
import { type DestinationStream, type Logger, pino } from 'pino'
import { logText } from './log-text.ts'

export type { Logger }

/** Lines are gathered for this long, or up to this many characters, and then written together. */
const GATHER_MS = 50
const GATHER_LENGTH = 32_768

/** Which requests have a line: `errors` are those answered 400 and above, `slow` the slow ones as well. */
export type LoggedRequests = 'all' | 'errors' | 'slow' | 'none'

export interface LogOptions {
  /** By default JSON. */
  readonly format?: 'text' | 'json' | undefined
  readonly requests?: LoggedRequests
}

/** A request that takes longer is slow. */
const SLOW_MS = 1000

/** Makes a logger that writes to stderr, or to `destination`. `level` is one of pino's, `silent` included. */
export function createLog(level: string, destination?: DestinationStream, options: LogOptions = {}): Logger {
  const { format, requests = 'all' } = options
  const raw = destination ?? stderr()
  const stream = format === 'text' ? { write: (line: string) => raw.write(logText(line)) } : raw
  const formatters = { level: (label: string) => ({ level: label }) }
  const log = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters }, stream)
  made.set(log, { stream, requests })
  return log
}

/** The stream of each log that createLog made, and the requests that it logs. */
const made = new WeakMap<Logger, { readonly stream: DestinationStream; readonly requests: LoggedRequests }>()

/** The fields of a request's line. */
export interface RequestFields {
  readonly requestId: string
  readonly method: string | undefined
  readonly path: string
  /** The name of the operation; undefined if no route matched. */
  readonly route: string | undefined
  readonly status: number
  /** The code of the refusal, if it is one. */
  readonly code?: string | undefined
  readonly ms: number
  readonly bytesIn: number
  readonly bytesOut: number
  /** The address that it came from. */
  readonly client: string
  /** The key, or the person, for whom the request acted, and in which project. */
  readonly keyId: string | undefined
  /** The name of the key; may be empty. */
  readonly keyLabel: string | undefined
  readonly user: number | undefined
  readonly project: number | undefined
}

/**
 * Writes the line of a request to a log that createLog made. The line is as pino would write it, but put together by
 * hand: pino does not know the fields beforehand, and takes twice as long.
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

/** The time as text. Many requests are answered in the same millisecond, so the text is kept for as long. */
function isoTime(): string {
  const ms = Date.now()
  if (ms !== spelled.ms) spelled = { ms, text: new Date(ms).toISOString() }
  return spelled.text
}

let gathered: DestinationStream | undefined

/**
 * The stream to stderr, which gathers lines and writes them together. No request waits for the terminal or the disk. A
 * write for each line would wake a thread each time, which costs CPU (test/bench/RESULTS.md, "Writing the log").
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
    // An asynchronous write that begins now would not be waited for.
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
