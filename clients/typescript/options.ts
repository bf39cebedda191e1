/** Client options. Environment variables supply omitted options. */
import platform from './platform/node/process.ts'
import type { PlatformVariables } from './platform/types.ts'
import type { Redact } from './record/values.ts'

export interface SpoorOptions {
  /** Service address. Defaults to `SPOOR_URL`, then to http://127.0.0.1:8787. */
  readonly url?: string | undefined
  /** API key. Defaults to `SPOOR_API_KEY`. Without a key, nothing is recorded. */
  readonly key?: string | undefined
  /** Folder for traces that cannot be sent. Defaults to `SPOOR_SPOOL`, then to ./.spoor. `false` disables the spool. */
  readonly spool?: string | false | undefined
  /** Whether each trace is written to the spool at once, so that nothing is lost even if the process is killed. */
  readonly spoolEach?: boolean | undefined
  /** Whether traces are visible while running. Each trace then takes several requests. */
  readonly live?: boolean | undefined
  /**
   * Whether a traced promise resolves only after its trace is sent. For serverless functions, which freeze once they
   * finish.
   */
  readonly flushEach?: boolean | undefined
  /**
   * Whether traces started inside an OpenTelemetry span join that span's trace. True by default if OpenTelemetry
   * exports to this service (`OTEL_EXPORTER_OTLP_ENDPOINT`). If OpenTelemetry exported elsewhere, the service would
   * store only the client's part of the trace.
   */
  readonly openTelemetry?: boolean | undefined
  /**
   * Receives the name and value of everything that is recorded, and returns the value to record instead. Names are
   * those of object members, indexes of list items, an empty string for members' names, and `traceName`, `spanName`,
   * `eventName`, `tag`, `sessionId`, `userId`, `model`, `scoreValue` and `scoreComment`.
   */
  readonly redact?: Redact | undefined
  /** Receives reports of losses and other problems, at most one a minute per kind. By default, they go to stderr. */
  readonly onProblem?: ((problem: string) => void) | undefined
  /**
   * Share of traces that are recorded, from 0 to 1; 1 by default. A trace is recorded completely or not at all. A trace
   * that fails, or that has a failed span, is always recorded.
   */
  readonly sampleRate?: number | undefined
  /** Maximum number of bytes queued in memory; 32 MiB by default. */
  readonly memoryBytes?: number | undefined
  /** Maximum number of bytes in the spool; 256 MiB by default. */
  readonly spoolBytes?: number | undefined
}

export type Settings = ReturnType<typeof readOptions>

const MIB = 1024 * 1024
const URL_DEFAULT = 'http://127.0.0.1:8787'

/**
 * Types of the options. `false` is also valid, because it often stands for an omitted option. A URL or key of another
 * type is not replaced by a default, which might name another project.
 */
const TYPES: Readonly<Record<keyof SpoorOptions, string>> = {
  url: 'string number object',
  key: 'string number object',
  spool: 'string',
  spoolEach: 'boolean',
  live: 'boolean',
  flushEach: 'boolean',
  openTelemetry: 'boolean',
  redact: 'function',
  onProblem: 'function',
  sampleRate: 'number',
  memoryBytes: 'number',
  spoolBytes: 'number'
}

/** Never throws, because an application must start even without tracing. */
export function readOptions(given: SpoorOptions, env: PlatformVariables) {
  const odd: string[] = []
  const options: { -readonly [name in keyof SpoorOptions]: SpoorOptions[name] } = { ...given }
  for (const [name, value] of Object.entries(options)) {
    if ((value ?? false) === false || TYPES[name as keyof SpoorOptions]?.includes(typeof value)) continue
    odd.push(name)
    delete options[name as keyof SpoorOptions]
  }
  const url = String(options.url || env.SPOOR_URL || URL_DEFAULT)
  const key = String(options.key ?? env.SPOOR_API_KEY ?? '').trim()
  const spool = options.spool ?? (env.SPOOR_SPOOL || './.spoor')
  const isUrl = /^https?:\/\/[^/]/.test(url) && URL.canParse(url)
  const obstacle =
    platform.obstacle ?? (isUrl ? keyObstacle(key) : `the url must begin with http:// or https://, not ${url}`)
  return {
    url: obstacle === undefined ? url : URL_DEFAULT,
    key,
    sampleRate: options.sampleRate! >= 0 ? options.sampleRate! : 1,
    /** Reason why nothing can be recorded, if any. */
    obstacle,
    /** Names of options that are ignored. */
    odd,
    spool: spool === false ? undefined : platform.absolutePath(spool),
    spoolEach: options.spoolEach ?? false,
    live: options.live ?? false,
    flushEach: options.flushEach ?? false,
    openTelemetry: options.openTelemetry ?? isExportTo(url, env),
    // If this is not a function, calling it fails, which hides every value.
    redact: given?.redact ?? undefined,
    onProblem: options.onProblem ?? (problem => platform.warn(`spoor: ${problem}`)),
    // A limit that is not a positive number, such as NaN, would never apply.
    memoryBytes: options.memoryBytes! > 0 ? options.memoryBytes! : 32 * MIB,
    spoolBytes: options.spoolBytes! > 0 ? options.spoolBytes! : 256 * MIB
  }
}

/** Whether OpenTelemetry's environment variables direct exports to this service. */
function isExportTo(url: string, env: PlatformVariables): boolean {
  const endpoint = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT || ''
  return URL.canParse(endpoint) && URL.canParse(url) && hostOf(endpoint) === hostOf(url)
}

/** Returns a URL's host. Loopback addresses become `localhost`, because they are equivalent. */
const hostOf = (url: string) => new URL(url).host.replace(/^(127\.0\.0\.1|\[::1\])(?=:|$)/, 'localhost')

function keyObstacle(key: string): string | undefined {
  if (key === '') return 'there is no key: set SPOOR_API_KEY'
  return /^[\x21-\x7e]+$/.test(key) ? undefined : 'the key has invalid characters'
}
