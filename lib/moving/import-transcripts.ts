/**
 * Implements `spoor import` for coding agents' transcripts: reads one file, or all transcripts in a folder, and sends
 * the finished steps as OpenTelemetry exports. Step ids are derived from the transcripts, so an import can be
 * interrupted and repeated. With `follow`, the import checks for new lines and new files every second.
 */
import { createReadStream } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { AdminError } from '../admin-error.ts'
import { Refusal } from '../errors.ts'
import { ClaudeCodeTranscript } from './transcripts/claude-code.ts'
import { CodexTranscript } from './transcripts/codex.ts'
import { otlpRequest } from './transcripts/otlp-request.ts'
import {
  type AgentStep,
  idIn,
  readFields,
  readJson,
  SHORT_QUIET_MS,
  type Transcript
} from './transcripts/transcript.ts'

export const TRANSCRIPT_FORMATS = ['claude-code', 'codex'] as const
export type TranscriptFormat = (typeof TRANSCRIPT_FORMATS)[number]

export interface TranscriptCounts {
  files: number
  /** Prompts for which steps were sent. Each prompt is a trace. */
  prompts: number
  /** Steps sent, including steps that were already stored. */
  steps: number
  /** Steps that were rejected because the stored step has different content or because the trace is full. */
  refused: number
  /** Lines that are not JSON, and files that cannot be read. */
  broken: number
  /** Transcripts whose last prompt is not finished. */
  open: number
  bytes: number
}

export interface SentExport {
  readonly rejectedSpans: number
  /** The reason why spans were rejected; empty if none were. */
  readonly message: string
}

export interface TranscriptOptions {
  readonly format: TranscriptFormat
  readonly path: string
  readonly follow: boolean
  /** Stops the import when aborted. Requests in flight are still completed. */
  readonly signal: AbortSignal
  /**
   * Sends an export request in JSON. Throws a Refusal if the request is rejected, or another error to stop the import.
   */
  readonly send: (request: Uint8Array) => Promise<SentExport>
  readonly onProblem: (place: string, reason: string) => void
  readonly onProgress?: (counts: Readonly<TranscriptCounts>, totalBytes: number) => void
}

/** Imports transcripts. Throws an AdminError if nothing can be read or sent, or if the import is aborted. */
export async function importTranscripts(options: TranscriptOptions): Promise<TranscriptCounts> {
  return new TranscriptImport(options).run()
}

const POLL_MS = 1000
/** Limits on an export request. */
const MAX_STEPS = 200
const MAX_CHARACTERS = 1024 * 1024
const MAX_REQUESTS = 4
/** Codes of refusals caused by the database's state rather than by the request. */
const BUSY: readonly string[] = ['quota_exhausted', 'unavailable']

class TranscriptImport {
  readonly #options: TranscriptOptions
  readonly #counts: TranscriptCounts = { files: 0, prompts: 0, steps: 0, refused: 0, broken: 0, open: 0, bytes: 0 }
  readonly #files = new Map<string, TranscriptFile>()
  readonly #prompts = new Set<string>()
  readonly #requests = new Set<Promise<void>>()
  #batch: AgentStep[] = []
  #characters = 0
  #totalBytes = 0
  #failure: { readonly error: unknown } | undefined

  constructor(options: TranscriptOptions) {
    this.#options = options
  }

  async run(): Promise<TranscriptCounts> {
    const { path, follow, signal } = this.#options
    try {
      do {
        const paths = await this.#list()
        if (paths.length === 0 && !follow) throw new AdminError(`there are no transcripts in ${path}`)
        for (const each of paths) if (!this.#isStopped) await this.#readFile(each)
        await this.#flush()
        if (this.#failure !== undefined) break
      } while (follow && (await this.#pause()))
    } finally {
      while (this.#requests.size > 0) await Promise.race(this.#requests)
    }
    if (signal.aborted && !follow) {
      throw new AdminError(`interrupted: ${this.#counts.steps} steps sent so far; run the command again to continue`)
    }
    this.#throwFailure()
    this.#counts.open = [...this.#files.values()].filter(({ isOpen }) => isOpen).length
    return this.#counts
  }

  get #isStopped(): boolean {
    return this.#failure !== undefined || this.#options.signal.aborted
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error
  }

  /** Waits one second. Returns false if the import was aborted. */
  async #pause(): Promise<boolean> {
    const { signal } = this.#options
    await setTimeout(POLL_MS, undefined, { signal }).catch(() => {})
    return !signal.aborted
  }

  /** Lists the transcripts and sums their sizes in bytes. */
  async #list(): Promise<string[]> {
    const { path, format } = this.#options
    try {
      const found = await stat(path)
      if (!found.isDirectory()) {
        this.#totalBytes = found.size
        return [path]
      }
      const entries = await readdir(path, { recursive: true, withFileTypes: true })
      const paths = entries
        .filter(entry => entry.isFile() && isTranscript(entry.name, format))
        .map(entry => join(entry.parentPath, entry.name))
      const sizes = await Promise.all(
        paths.map(each =>
          stat(each).then(
            ({ size }) => size,
            () => 0
          )
        )
      )
      this.#totalBytes = sizes.reduce((sum, size) => sum + size, 0)
      return paths.sort()
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      throw new AdminError(`cannot read ${path}: ${code === 'ENOENT' ? 'there is no such file or folder' : message}`)
    }
  }

  async #readFile(path: string): Promise<void> {
    let file = this.#files.get(path)
    if (file === undefined) {
      file = new TranscriptFile(path, this.#options.format)
      this.#files.set(path, file)
      this.#counts.files++
    }
    try {
      for await (const { steps, bytes, fault } of file.read(this.#options.follow)) {
        this.#counts.bytes += bytes
        if (fault !== undefined) this.#report(fault.place, fault.reason)
        for (const step of steps) await this.#add(step)
        if (bytes > 0) this.#options.onProgress?.(this.#counts, this.#totalBytes)
        if (this.#isStopped) return
      }
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      if (code === undefined) throw error
      // A missing file is not a fault, because agents delete old transcripts.
      if (code !== 'ENOENT') this.#report(path, message)
    }
    if (!this.#options.follow && !file.isOpen) this.#files.delete(path)
  }

  #report(place: string, reason: string): void {
    this.#counts.broken++
    this.#options.onProblem(place, reason)
  }

  async #add(step: AgentStep): Promise<void> {
    this.#batch.push(step)
    this.#characters += sizeOf(step)
    this.#prompts.add(step.traceId)
    if (this.#batch.length >= MAX_STEPS || this.#characters >= MAX_CHARACTERS) await this.#flush()
  }

  /** Sends the collected steps in one request, once fewer than MAX_REQUESTS requests are in flight. */
  async #flush(): Promise<void> {
    const steps = this.#batch
    this.#batch = []
    this.#characters = 0
    if (steps.length === 0 || this.#failure !== undefined) return
    while (this.#requests.size >= MAX_REQUESTS) await Promise.race(this.#requests)
    const request = this.#send(steps).finally(() => this.#requests.delete(request))
    this.#requests.add(request)
  }

  async #send(steps: readonly AgentStep[]): Promise<void> {
    const request = Buffer.from(otlpRequest(steps))
    let sent = await this.#try(request, steps.length)
    // The database may become available again while the agents keep working.
    while (sent === undefined && this.#failure === undefined && (await this.#pause())) {
      sent = await this.#try(request, steps.length)
    }
    if (sent === undefined) return
    const { rejectedSpans, message } = sent
    this.#counts.refused += rejectedSpans
    if (rejectedSpans > 0) this.#options.onProblem('refused', message)
    this.#counts.steps += steps.length
    this.#counts.prompts = this.#prompts.size
  }

  /**
   * Sends a request that contains `count` steps. Returns undefined if the database cannot accept requests now, or after
   * an error that stops the import.
   */
  async #try(request: Uint8Array, count: number): Promise<SentExport | undefined> {
    try {
      return await this.#options.send(request)
    } catch (error) {
      const isBusy = error instanceof Refusal && BUSY.includes(error.code)
      const isRefused = error instanceof Refusal || (error as { name?: unknown } | null)?.name === 'PostgresError'
      if (isRefused && !isBusy) return { rejectedSpans: count, message: (error as Error).message }
      if (!isBusy || !this.#options.follow) this.#failure ??= { error }
      return undefined
    }
  }
}

/** Returns the total length of a step's string attributes, which make up most of a request's size. */
const sizeOf = ({ attributes }: AgentStep): number =>
  Object.values(attributes).reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 0), 0)

const isTranscript = (name: string, format: TranscriptFormat): boolean =>
  name.endsWith('.jsonl') && (format === 'codex' ? name.startsWith('rollout-') : name !== 'history.jsonl')

interface ReadLine {
  readonly steps: readonly AgentStep[]
  readonly bytes: number
  readonly fault?: { readonly place: string; readonly reason: string }
}

/** Longer lines are not kept in memory. */
const MAX_LINE_BYTES = 128 * 1024 * 1024
const LF = 10

/** A transcript file. Each read continues at the position where the previous read ended. */
class TranscriptFile {
  readonly #path: string
  readonly #format: TranscriptFormat
  #transcript: Transcript
  #offset = 0
  #line = 0
  /** The parts of a line whose end has not been read yet. */
  #held: Uint8Array[] = []
  #heldBytes = 0

  constructor(path: string, format: TranscriptFormat) {
    this.#path = path
    this.#format = format
    this.#transcript = newTranscript(format)
  }

  get isOpen(): boolean {
    return this.#transcript.isOpen
  }

  /** Reads the bytes added since the previous read. `follow` means that the file will be read again. */
  async *read(follow: boolean): AsyncGenerator<ReadLine> {
    const { size, mtimeMs } = await stat(this.#path)
    if (size < this.#offset) this.#restart()
    await this.#readSubagent()
    if (size > this.#offset) {
      for await (const chunk of createReadStream(this.#path, { start: this.#offset, highWaterMark: MAX_CHARACTERS })) {
        yield* this.#split(chunk)
      }
    }
    const quietMs = Date.now() - mtimeMs
    // A last line without a line break is still being written, unless the file has stopped growing.
    if (!follow && quietMs >= SHORT_QUIET_MS && this.#heldBytes > 0) yield* this.#endLine()
    yield { steps: this.#transcript.settle(quietMs), bytes: 0 }
  }

  #restart(): void {
    this.#transcript = newTranscript(this.#format)
    this.#offset = 0
    this.#line = 0
    this.#drop()
  }

  *#split(chunk: Buffer): Generator<ReadLine> {
    let from = 0
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, from)) {
      this.#hold(chunk.subarray(from, end))
      from = end + 1
      this.#offset++
      yield* this.#endLine()
    }
    this.#hold(chunk.subarray(from))
  }

  #hold(bytes: Uint8Array): void {
    this.#offset += bytes.byteLength
    this.#heldBytes += bytes.byteLength
    if (this.#heldBytes <= MAX_LINE_BYTES) this.#held.push(bytes)
    else this.#held = []
  }

  #drop(): void {
    this.#held = []
    this.#heldBytes = 0
  }

  *#endLine(): Generator<ReadLine> {
    const bytes = this.#heldBytes
    const text = bytes > MAX_LINE_BYTES ? undefined : Buffer.concat(this.#held).toString('utf8')
    this.#drop()
    this.#line++
    const fault = (reason: string) => ({ place: `${this.#path}:${this.#line}`, reason })
    if (text === undefined) {
      yield { steps: [], bytes, fault: fault('the line is too long') }
      return
    }
    if (text.trim() === '') return
    const line = readJson(text)
    if (typeof line !== 'object' || line === null || Array.isArray(line)) {
      yield { steps: [], bytes, fault: fault('the line is not a JSON object, or is nested too deeply') }
    } else yield { steps: this.#transcript.read(line), bytes }
  }

  /** Reads the facts about a subagent from the file that Claude Code stores next to the subagent's transcript. */
  async #readSubagent(): Promise<void> {
    const transcript = this.#transcript
    if (!(transcript instanceof ClaudeCodeTranscript) || !/^agent-.*\.jsonl$/.test(basename(this.#path))) return
    const text = await readFile(this.#path.replace(/jsonl$/, 'meta.json'), 'utf8').catch(() => undefined)
    if (text === undefined) return
    const { toolUseId, agentType, finished } = readFields(readJson(text))
    transcript.subagent = { toolUseId: idIn(toolUseId), type: idIn(agentType), isFinished: finished === true }
  }
}

const newTranscript = (format: TranscriptFormat): Transcript =>
  format === 'codex' ? new CodexTranscript() : new ClaudeCodeTranscript()
