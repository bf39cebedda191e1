/**
 * The log: pino's JSON lines on stderr, one for each request. A line never holds a secret, a key or a body. stdout is
 * left to what commands print, such as the address and the first key of `spoor serve`.
 */
import { type DestinationStream, type Logger, pino } from 'pino'

export type { Logger }

/** Lines are gathered for so long, or up to so many characters, and then written together. */
const GATHER_MS = 50
const GATHER_LENGTH = 32_768

/** Makes a logger that writes to stderr, or to `destination`. `level` is one of pino's, `silent` included. */
export function createLog(level: string, destination?: DestinationStream): Logger {
  const stream = destination ?? stderr()
  const log = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, stream)
  destinations.set(log, stream)
  return log
}

/** The destination of each log that createLog made. */
const destinations = new WeakMap<Logger, DestinationStream>()

/** The fields of a request's line. */
export interface RequestFields {
  readonly requestId: string
  readonly method: string | undefined
  readonly path: string
  /** The name of the operation; undefined if no route matched. */
  readonly route: string | undefined
  readonly status: number
  readonly ms: number
  readonly bytesIn: number
  readonly bytesOut: number
  readonly keyId: string | undefined
  readonly project: number | undefined
}

/**
 * Writes the line of a request to a log that createLog made. The line is as pino would write it, but put together by
 * hand: pino does not know the fields beforehand, and takes twice as long.
 */
export function logRequest(log: Logger, fields: RequestFields): void {
  if (!log.isLevelEnabled('info')) return
  const { requestId, method, path, route, status, ms, bytesIn, bytesOut, keyId, project } = fields
  let line = `{"level":30,"time":"${isoTime()}","requestId":"${requestId}","method":"${method}","path":`
  line += JSON.stringify(path)
  if (route !== undefined) line += `,"route":"${route}"`
  line += `,"status":${status},"ms":${ms},"bytesIn":${bytesIn},"bytesOut":${bytesOut}`
  if (keyId !== undefined) line += `,"keyId":"${keyId}","project":${project}`
  destinations.get(log)?.write(`${line},"msg":"request"}\n`)
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
    flush()
    stream.flushSync()
  })
  return {
    write(line) {
      lines += line
      if (lines.length > GATHER_LENGTH) flush()
      else timer ??= setTimeout(flush, GATHER_MS).unref()
    }
  }
}
