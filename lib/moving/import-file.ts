/**
 * Implements `spoor import`: stores the values of a file, gzipped or not, as traces through the write path's batches. A
 * value that cannot be stored is reported, and the import continues. Only a bounded part of the file is in flight at a
 * time, so a file of any size takes the same memory.
 */
import { AdminError } from '../admin-error.ts'
import { Refusal } from '../errors.ts'
import type { WritePath } from '../ingest/write-path.ts'
import { UnpackError, unpacked } from './gunzip.ts'
import { type SplitValue, splitValues } from './json-splitter.ts'

/**
 * A trace as an export line, or the reason why the trace cannot be converted. If the file has another format, `mapped`
 * counts the converted fields by mapping.
 */
export type Converted =
  | { readonly line: Uint8Array; readonly mapped?: ReadonlyMap<string, number> }
  | { readonly refusal: string }

export interface ImportCounts {
  /** All traces in the file, regardless of outcome. */
  traces: number
  imported: number
  /** Traces that were stored in an earlier state and were advanced to the file's state. */
  advanced: number
  /** Traces that were already stored, in the file's state or a later state. */
  skipped: number
  refused: number
  /** Bytes of the file read so far, before decompression. */
  bytes: number
}

export interface ImportOptions {
  /** Called for every trace that was not stored, in file order. */
  readonly onProblem: (place: string, reason: string) => void
  readonly onProgress?: (counts: Readonly<ImportCounts>) => void
  /** Stops reading when aborted. Traces already read are still stored. */
  readonly signal?: AbortSignal
  /** Converts a value of another format into export lines. */
  readonly convert?: (bytes: Uint8Array) => Iterable<Converted>
}

export interface ImportResult extends ImportCounts {
  /** If the file has another format, the number of converted fields by mapping. */
  readonly mapped: ReadonlyMap<string, number>
}

type Outcome =
  | { readonly type: 'imported' | 'advanced' | 'skipped' }
  | { readonly type: 'refused'; readonly reason: string }
  | { readonly type: 'failed'; readonly error: unknown }

interface UnderWay {
  readonly place: string
  readonly bytes: number
  readonly mapped: ReadonlyMap<string, number>
  readonly outcome: Promise<Outcome>
}

/** Limits on the traces that have been read but not stored yet: a few write-path batches. */
const MAX_UNDER_WAY = 512
const MAX_BYTES_UNDER_WAY = 16 * 1024 * 1024

const OUTCOMES = { insert: 'imported', advance: 'advanced', duplicate: 'skipped' } as const

const NOTHING_MAPPED: ReadonlyMap<string, number> = new Map()

const asItIs = (bytes: Uint8Array): Iterable<Converted> => [{ line: bytes }]

/**
 * Imports a file's traces into a project. Throws an AdminError if the database rejects writes or the import is aborted.
 * A repeated import skips traces that are already stored.
 */
export async function importTraces(
  path: WritePath,
  projectId: number,
  source: AsyncIterable<Uint8Array>,
  options: ImportOptions
): Promise<ImportResult> {
  const running = new Import(path, projectId, options)
  return running.run(splitValues(unpacked(running.counted(source))))
}

/** Imports values that are already split, without counting their bytes. Otherwise like importTraces. */
export async function importValues(
  path: WritePath,
  projectId: number,
  values: AsyncIterable<SplitValue>,
  options: ImportOptions
): Promise<ImportResult> {
  return new Import(path, projectId, options).run(values)
}

class Import {
  readonly #path: WritePath
  readonly #projectId: number
  readonly #options: ImportOptions
  readonly #counts: ImportCounts = { traces: 0, imported: 0, advanced: 0, skipped: 0, refused: 0, bytes: 0 }
  readonly #mapped = new Map<string, number>()
  /** Traces in flight, in file order. */
  readonly #underWay: UnderWay[] = []
  #bytesUnderWay = 0
  #failure: { readonly error: unknown } | undefined

  constructor(path: WritePath, projectId: number, options: ImportOptions) {
    this.#path = path
    this.#projectId = projectId
    this.#options = options
  }

  async run(values: AsyncIterable<SplitValue>): Promise<ImportResult> {
    try {
      for await (const value of values) {
        if (this.#isStopped) break
        await this.#take(value)
      }
    } catch (error) {
      if (error instanceof UnpackError) this.#failure ??= { error }
      else if (!this.#options.signal?.aborted) throw error
    } finally {
      while (this.#underWay.length > 0) await this.#settleFirst()
    }
    const { imported, advanced } = this.#counts
    const advice = `${imported + advanced} imported so far; run the command again to continue`
    if (this.#failure !== undefined) throw new AdminError(`${messageOf(this.#failure.error)}; ${advice}`)
    if (this.#options.signal?.aborted) throw new AdminError(`interrupted: ${advice}`)
    return { ...this.#counts, mapped: this.#mapped }
  }

  get #isStopped(): boolean {
    return this.#failure !== undefined || this.#options.signal?.aborted === true
  }

  /** Yields a source's bytes and counts them as they are read. */
  async *counted(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      this.#counts.bytes += chunk.byteLength
      yield chunk
    }
  }

  async #take({ place, bytes, fault }: SplitValue): Promise<void> {
    for (const converted of fault === undefined ? this.#convert(bytes) : [{ refusal: fault }]) {
      this.#start(place, converted)
      while (this.#underWay.length > MAX_UNDER_WAY || this.#bytesUnderWay > MAX_BYTES_UNDER_WAY) {
        await this.#settleFirst()
      }
    }
  }

  *#convert(bytes: Uint8Array): Iterable<Converted> {
    try {
      yield* (this.#options.convert ?? asItIs)(bytes)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      yield { refusal: error.message }
    }
  }

  #start(place: string, converted: Converted): void {
    const refused = 'refusal' in converted
    const bytes = refused ? 0 : converted.line.byteLength
    const outcome = refused
      ? Promise.resolve<Outcome>({ type: 'refused', reason: converted.refusal })
      : this.#path
          .restore(this.#projectId, converted.line)
          .then((became): Outcome => ({ type: OUTCOMES[became] }), outcomeOf)
    const mapped = refused ? NOTHING_MAPPED : (converted.mapped ?? NOTHING_MAPPED)
    this.#bytesUnderWay += bytes
    this.#underWay.push({ place, bytes, mapped, outcome })
  }

  async #settleFirst(): Promise<void> {
    const { place, bytes, mapped, outcome } = this.#underWay.shift()!
    const result = await outcome
    this.#bytesUnderWay -= bytes
    if (result.type === 'failed') {
      this.#failure ??= { error: result.error }
      return
    }
    this.#counts.traces++
    this.#counts[result.type]++
    if (result.type === 'refused') this.#options.onProblem(place, result.reason)
    else for (const [step, times] of mapped) this.#mapped.set(step, (this.#mapped.get(step) ?? 0) + times)
    this.#options.onProgress?.(this.#counts)
  }
}

/** Returns a failed write's outcome. A refusal concerns one trace, unless the database accepts no writes at all. */
function outcomeOf(error: unknown): Outcome {
  if (error instanceof Refusal && error.code !== 'quota_exhausted') return { type: 'refused', reason: error.message }
  // The write path has already retried this trace alone, and PostgreSQL rejected it.
  if ((error as { name?: unknown } | null)?.name === 'PostgresError')
    return { type: 'refused', reason: messageOf(error) }
  return { type: 'failed', error }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
