/**
 * Settings of the embedded PostgreSQL, chosen for one machine, one service and many inserts. No setting risks data
 * loss.
 */
import { totalmem } from 'node:os'

const MIB = 1024 ** 2
const GIB = 1024 ** 3

/** Returns the memory available to this process: the machine's memory or the container's limit. */
function readMemoryBytes(): number {
  const limit = process.constrainedMemory?.() ?? 0
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem()
}

/**
 * Returns the settings, which are passed to postgres at every start so that they always match the code and the machine.
 * `diskBytes` is the size of the disk that holds the data folder; if it is undefined, the disk is assumed to be large.
 */
export function chooseSettings(diskBytes?: number, memoryBytes: number = readMemoryBytes()): Record<string, string> {
  const megabytes = (share: number, least: number, most: number, whole = memoryBytes) =>
    `${Math.round(Math.min(most, Math.max(least, whole * share)) / MIB)}MB`
  // The log keeps its size even if nothing is recorded. If its size did not depend on the disk, the log of an idle
  // database could fill a small disk.
  const logSize = megabytes(1 / 20, 32 * MIB, 512 * MIB, diskBytes ?? Number.POSITIVE_INFINITY)
  return {
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
    // If a backend crashes, PostgreSQL exits, and a process that uses PostgreSQL starts it again, as after any other
    // exit (embedded.ts). PostgreSQL's own restart has been observed to hang (18.4).
    restart_after_crash: 'off',
    max_connections: '100',
    shared_buffers: megabytes(1 / 8, 128 * MIB, 2 * GIB),
    effective_cache_size: megabytes(1 / 2, 256 * MIB, 64 * GIB),
    maintenance_work_mem: megabytes(1 / 32, 64 * MIB, 512 * MIB),
    // Recovery from a crash takes seconds, because it replays at most about this amount of log. The first change to a
    // page after a checkpoint logs the whole page, so a larger value would reduce the number of checkpoints, the amount
    // of log and CPU use (test/bench/RESULTS.md).
    max_wal_size: logSize,
    // Amount of log space that is kept for reuse, because commits wait while PostgreSQL creates new files
    // (WAL_SEGMENT_MIB).
    min_wal_size: logSize,
    checkpoint_timeout: '15min',
    // Compressing full-page images slowed recording and did not reduce the amount of log (test/bench/RESULTS.md, "The
    // embedded PostgreSQL and its connections").
    wal_compression: 'off',
    random_page_cost: '1.1',
    // Statements can contain bodies, which must not be logged. Only LOG, FATAL and PANIC are logged, without details.
    log_min_messages: 'log',
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
    log_checkpoints: 'off',
    log_line_prefix: '',
    log_timezone: 'UTC',
    TimeZone: 'UTC'
  }
}
