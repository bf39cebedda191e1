/** The options of a client. An environment variable fills in an option that is not given. */
import { resolve } from 'node:path'
import type { Redact } from './record/values.ts'
import type { Target } from './send/transport.ts'

export interface SpoorOptions {
  /** The address of the service; `SPOOR_URL` if not given, else http://127.0.0.1:8787. */
  readonly url?: string | undefined
  /** The API key; `SPOOR_API_KEY` if not given. Without one nothing is recorded. */
  readonly key?: string | undefined
  /** The folder for what cannot be sent; `SPOOR_SPOOL` if not given, else ./.spoor. False: there is none. */
  readonly spool?: string | false | undefined
  /** Writes each trace to the spool at once, so that not even a kill of the process loses it. */
  readonly spoolEach?: boolean | undefined
  /** Traces can be seen while they run, which takes several requests each. */
  readonly live?: boolean | undefined
  /** Sends before a traced function's promise is resolved: for serverless functions, which are frozen afterwards. */
  readonly flushEach?: boolean | undefined
  /**
   * Inside a span of OpenTelemetry's SDK, traces are part of its trace. If not given, they are where its variables
   * (`OTEL_EXPORTER_OTLP_ENDPOINT`) have it send to this service: otherwise the rest of the trace would be missing there.
   */
  readonly openTelemetry?: boolean | undefined
  /**
   * Gets the name and the value of each member of what is recorded, and of each item of a list, whose name is its place.
   * Returns what is recorded in its place.
   */
  readonly redact?: Redact | undefined
  /** Told of what is lost and of what is amiss, once a minute for each kind; otherwise a line on stderr. */
  readonly onProblem?: ((problem: string) => void) | undefined
  /** The most bytes that wait in memory; 32 MiB if not given. */
  readonly memoryBytes?: number | undefined
  /** The most bytes on disk; 256 MiB if not given. */
  readonly spoolBytes?: number | undefined
}

export interface Settings extends Target {
  readonly spool: string | undefined
  readonly spoolEach: boolean
  readonly live: boolean
  readonly flushEach: boolean
  readonly openTelemetry: boolean
  readonly redact: Redact | undefined
  readonly onProblem: (problem: string) => void
  readonly memoryBytes: number
  readonly spoolBytes: number
  /** Why nothing can be recorded. */
  readonly obstacle: string | undefined
}

const MIB = 1024 * 1024
const URL_DEFAULT = 'http://127.0.0.1:8787'
const SPOOL_DEFAULT = './.spoor'

/** Never throws: an application starts without its traces, too. */
export function readOptions(options: SpoorOptions, env: NodeJS.ProcessEnv): Settings {
  const url = String(options.url || env.SPOOR_URL || URL_DEFAULT)
  const key = String(options.key ?? env.SPOOR_API_KEY ?? '').trim()
  const spool = options.spool ?? (env.SPOOR_SPOOL || SPOOL_DEFAULT)
  const isUrl = /^https?:\/\/[^/]/.test(url) && URL.canParse(url)
  const obstacle = isUrl ? keyObstacle(key) : `the url of a server begins with http:// or https://: ${url} does not`
  return {
    ...{ url: obstacle === undefined ? url : URL_DEFAULT, key, obstacle },
    // The application may go to another folder later.
    spool: spool === false ? undefined : resolve(String(spool)),
    spoolEach: options.spoolEach ?? false,
    live: options.live ?? false,
    flushEach: options.flushEach ?? false,
    openTelemetry: options.openTelemetry ?? isExportTo(url, env),
    redact: options.redact,
    onProblem: options.onProblem ?? (problem => process.stderr.write(`spoor: ${problem}\n`)),
    memoryBytes: positive(options.memoryBytes, 32 * MIB),
    spoolBytes: positive(options.spoolBytes, 256 * MIB)
  }
}

/** A bound that is no number would be none. */
const positive = (given: unknown, otherwise: number) => (Number(given) > 0 ? Number(given) : otherwise)

/** Whether OpenTelemetry exports to this service, as far as its variables say. */
function isExportTo(url: string, env: NodeJS.ProcessEnv): boolean {
  const endpoint = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT || ''
  return URL.canParse(endpoint) && URL.canParse(url) && hostOf(endpoint) === hostOf(url)
}

/** This machine has several names for itself. */
const hostOf = (url: string) => new URL(url).host.replace(/^(127\.0\.0\.1|\[::1\])(?=:|$)/, 'localhost')

function keyObstacle(key: string): string | undefined {
  if (key === '') return 'there is no key: set SPOOR_API_KEY'
  return /^[\x21-\x7e]+$/.test(key) ? undefined : 'the key has characters that no key has'
}
