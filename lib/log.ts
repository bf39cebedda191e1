/**
 * The log: pino lines on stderr, one per request; never a key, a secret or a body. stdout belongs to what commands print,
 * the address and the first key of `spoor serve` among it.
 */
import { type DestinationStream, type Logger, pino } from 'pino'

export type { Logger }

/** A logger of the given pino level (`silent` included) that writes to stderr, or to `destination`. */
export function createLog(level: string, destination?: DestinationStream): Logger {
  // Lines that are logged while one is being written go out together, and no request waits for the terminal or the disk.
  const stderr = () => pino.destination({ dest: 2, sync: false })
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination ?? stderr())
}
