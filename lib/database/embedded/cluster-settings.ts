/** The settings of the embedded PostgreSQL: one machine, one service, many inserts, nothing lost. */
import { totalmem } from 'node:os'

const MIB = 1024 ** 2
const GIB = 1024 ** 3

/** What this process may use: the machine's memory, or the container's limit. */
function readMemoryBytes(): number {
  const limit = process.constrainedMemory?.() ?? 0
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem()
}

/** Settings given to postgres at every start, so that they follow the code and the machine. */
export function chooseSettings(memoryBytes: number = readMemoryBytes()): Record<string, string> {
  const megabytes = (share: number, least: number, most: number) =>
    `${Math.round(Math.min(most, Math.max(least, memoryBytes * share)) / MIB)}MB`
  return {
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
    max_connections: '100',
    shared_buffers: megabytes(1 / 8, 128 * MIB, 2 * GIB),
    effective_cache_size: megabytes(1 / 2, 256 * MIB, 64 * GIB),
    maintenance_work_mem: megabytes(1 / 32, 64 * MIB, 512 * MIB),
    // Few checkpoints: after each one, the first change of a page writes the whole page to the log.
    max_wal_size: '4GB',
    // So much of the log is used again, not made anew, which commits wait for (WAL_SEGMENT_MIB).
    min_wal_size: '512MB',
    checkpoint_timeout: '15min',
    // Those pages are not compressed. With 20 million spans stored a trace writes four of them, of indexes whose order has
    // nothing to do with time, and pglz made as much log of it (54 kB a trace, 51 without) at 1,609 traces/s instead of 2,250.
    wal_compression: 'off',
    random_page_cost: '1.1',
    // Nothing of a statement, which may hold a body, comes into the log: LOG, FATAL and PANIC only, without details.
    log_min_messages: 'log',
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
    log_checkpoints: 'off',
    log_line_prefix: '',
    log_timezone: 'UTC',
    TimeZone: 'UTC'
  }
}
