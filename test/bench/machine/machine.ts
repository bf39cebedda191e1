/** Describes the machine on which the figures were measured. */
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { cpus, release, totalmem, type } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import type { Sql } from 'postgres'
import { chooseSettings } from '../../../lib/database/embedded/cluster-settings.ts'
import { median } from '../measure.ts'

export interface Machine {
  readonly processor: string
  readonly cores: number
  readonly memoryBytes: number
  readonly system: string
  readonly node: string
  readonly postgres: string
  /** PostgreSQL settings that determine the durability of a commit. */
  readonly durability: string
  /** Median time in µs of an fsync after writing 8 kB. A very short time reveals a disk that does not really write. */
  readonly fsyncMicros: number
}

const FSYNCS = 50
const PAGE_BYTES = 8_192

/** Describes the machine. The fsync is measured in `folder`, which will contain the database. */
export async function readMachine(sql: Sql, folder: string): Promise<Machine> {
  const [row] = await sql<{ postgres: string; durability: string }[]>`
    select current_setting('server_version') as postgres,
      format('fsync %s, synchronous_commit %s, full_page_writes %s', current_setting('fsync'),
        current_setting('synchronous_commit'), current_setting('full_page_writes')) as durability`
  const processors = cpus()
  return {
    processor: processors[0]?.model.trim() ?? 'unknown processor',
    cores: processors.length,
    memoryBytes: totalmem(),
    system: `${type()} ${release()}`,
    node: process.versions.node,
    ...row!,
    fsyncMicros: measureFsync(folder)
  }
}

/** Other settings that affect PostgreSQL's speed. Settings that a version lacks are left out. */
const MORE_SETTINGS = ['server_version', 'data_checksums', 'wal_segment_size', 'io_method', 'huge_pages_status', 'jit']

/** Returns the settings that differ between two servers, among the embedded PostgreSQL's settings and MORE_SETTINGS. */
export async function compareSettings(one: Sql, other: Sql): Promise<Record<string, [string, string]>> {
  const names = [...Object.keys(chooseSettings()).filter(name => !/^(log_|TimeZone)/.test(name)), ...MORE_SETTINGS]
  const [ours, theirs] = await Promise.all([one, other].map(sql => readSettings(sql, names)))
  const differing = names.filter(name => ours!.get(name) !== theirs!.get(name))
  return Object.fromEntries(differing.map(name => [name, [ours!.get(name) ?? '–', theirs!.get(name) ?? '–']]))
}

async function readSettings(sql: Sql, names: readonly string[]): Promise<Map<string, string>> {
  const rows = await sql<{ name: string; value: string }[]>`
    select name, current_setting(name) as value from pg_settings where name = any (${`{${names.join(',')}}`}::text[])`
  return new Map(rows.map(({ name, value }) => [name, value]))
}

function measureFsync(folder: string): number {
  const path = join(folder, `spoor-bench-fsync-${process.pid}`)
  const file = openSync(path, 'w')
  try {
    return median(
      Array.from({ length: FSYNCS }, (_, i) => {
        writeSync(file, Buffer.alloc(PAGE_BYTES, i), 0, PAGE_BYTES, i * PAGE_BYTES)
        const began = performance.now()
        fsyncSync(file)
        return (performance.now() - began) * 1_000
      })
    )
  } finally {
    closeSync(file)
    rmSync(path)
  }
}
