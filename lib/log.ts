/** The log: pino lines on stdout, one per request; never a key, a secret or a body. */
import { type DestinationStream, type Logger, pino } from 'pino'

export type { Logger }

/** A logger of the given pino level (`silent` included) that writes to stdout, or to `destination`. */
export function createLog(level: string, destination?: DestinationStream): Logger {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination ?? pino.destination(1))
}
