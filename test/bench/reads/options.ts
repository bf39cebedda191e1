/** The flags of `npm run bench -- reads`. */
import { tmpdir } from 'node:os'
import { flag, readAmount, readFlags, text, UsageError } from '../options.ts'

export interface ReadsOptions {
  /** Number of traces in each project, in the order in which the projects are filled and measured. */
  readonly stored: readonly number[]
  /** Number of requests for each combination of a case and a number of connections. */
  readonly requests: number
  /** Substrings of case names. Only matching cases are measured. */
  readonly only: readonly string[]
  /** Whether only numbers over time are measured. If so, only the data that these numbers need is filled. */
  readonly isOfSums: boolean
  readonly folder: string
  /** Folder in which filled databases are kept for the next run; undefined if they are not kept. */
  readonly data: string | undefined
  /** Whether to fill the databases without measuring. */
  readonly fill: boolean
  readonly profile: string | undefined
  readonly json: boolean
  readonly help: boolean
}

/**
 * Enough requests that a few of them do not determine p99. With 300 requests, two or three stalls of the machine within
 * a second did.
 */
const REQUESTS = 1000

export const READS_HELP = `Measures lists, details and the project as more and more is stored: npm run bench -- reads [flags]

It fills a database of each size and asks the same of them in turn: every case with one connection and with 32.
test/bench/README.md says what is stored. Give the machine nothing else to do meanwhile.

  --stored N,N       traces of each database, such as 100k,1M,10M (default: 100k,1M); about 2 kB of disk each
  --requests N       requests of each case (default: ${REQUESTS})
  --only TEXT,TEXT   only the cases that have one of these in their names (the last ones: detail); where each begins with
                     series or facet, only sums over time are filled, which takes minutes for 10M
  --folder DIR       where the databases are put for the time (default: ${tmpdir()})
  --data DIR         where filled databases are kept, and found by the next run
  --fill             only fill
  --profile DIR      write CPU profiles of the server there
  --json             print one JSON value instead
  --help             print this
`

/** Minimum number of traces in a project, so that page 1000 exists. */
const LEAST_TRACES = 100_000

/** Reads the flags. Throws a UsageError if they are invalid. */
export function readReadsOptions(parameters: readonly string[]): ReadsOptions {
  const flags = readFlags(parameters, FLAGS)
  const stored = (flags.stored ?? '100k,1M').split(',').map(readAmount)
  if (stored.some(traces => traces < LEAST_TRACES)) throw new UsageError('--stored takes 100k or more each')
  const requests = Number(flags.requests ?? REQUESTS)
  if (!Number.isInteger(requests) || requests <= 0) throw new UsageError('--requests takes a whole number')
  const only = (flags.only ?? '').split(',')
  return {
    stored,
    requests,
    only,
    isOfSums: only.every(part => /^(series|facet)/.test(part)),
    folder: flags.folder ?? tmpdir(),
    data: flags.data,
    fill: flags.fill ?? false,
    profile: flags.profile,
    json: flags.json ?? false,
    help: flags.help ?? false
  }
}

const FLAGS = {
  stored: text,
  requests: text,
  only: text,
  folder: text,
  data: text,
  fill: flag,
  profile: text,
  json: flag,
  help: flag
} as const
