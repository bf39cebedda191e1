/** Reads a backup and verifies its order, counts and hashes. */
import { createHash, type Hash } from 'node:crypto'
import { AdminError } from '../../admin-error.ts'
import { type Checker, checker } from '../../schema/check.ts'
import { UnpackError } from '../gunzip.ts'
import { type SplitValue, splitValues } from '../json-splitter.ts'
import {
  BACKUP_FORMAT,
  type BackupCounts,
  countPage,
  LINES,
  type LineName,
  type LineOf,
  NOTHING,
  ROWS_START,
  TRACE_START
} from './format.ts'
import { unpackedBackup } from './whole-file.ts'

/** The unparsed bytes of a line of traces, or the parsed value of any other line. */
export type BackupLine =
  | { readonly name: 'trace'; readonly value: SplitValue }
  | { readonly name: 'rows'; readonly value: SplitValue }
  | { [K in LineName]: { readonly name: K; readonly value: LineOf<K> } }[LineName]

/** For each kind of line, by name, the kinds of line that may follow. */
const HEAD = ['account', 'project', 'user', 'member', 'key', 'traces', 'act', 'end'] as const
const IN_PROJECT = ['rows', 'trace', 'messages', 'author', 'sum'] as const
const FOLLOWING: Readonly<Record<BackupLine['name'], readonly BackupLine['name'][]>> = {
  backup: HEAD,
  account: HEAD,
  project: HEAD.slice(1),
  user: HEAD.slice(2),
  member: HEAD.slice(3),
  key: HEAD.slice(4),
  traces: IN_PROJECT,
  rows: IN_PROJECT,
  trace: IN_PROJECT,
  messages: ['messages', 'author', 'sum'],
  author: ['author', 'sum'],
  sum: ['traces', 'act', 'end'],
  act: ['act', 'end'],
  end: []
}
const COUNTED: Partial<Record<BackupLine['name'], keyof BackupCounts>> = {
  account: 'accounts',
  project: 'projects',
  user: 'users',
  member: 'members',
  key: 'keys',
  trace: 'traces',
  messages: 'messages',
  author: 'authors',
  act: 'acts'
}

const LF = Buffer.from('\n')
const checkers = new Map<LineName, Checker<unknown>>()

/**
 * Yields a backup's lines, ending with `end`. Throws an AdminError that names the fault as soon as a line does not
 * belong in a backup or fails its checksum. Earlier lines are verified only by `sum` and `end`.
 */
export async function* readBackup(source: AsyncIterable<Uint8Array>): AsyncGenerator<BackupLine, void, undefined> {
  const reading = new Reading()
  try {
    for await (const value of splitValues(unpackedBackup(source))) yield reading.take(value)
  } catch (error) {
    if (error instanceof UnpackError) throw reading.hasBegun ? damaged(error.message) : notOne()
    throw error
  }
  reading.finish()
}

class Reading {
  #last: BackupLine['name'] | undefined
  readonly #hash = createHash('sha256')
  /** The hash of the project's traces in format 1. */
  #projectHash: Hash | undefined
  #format = BACKUP_FORMAT
  #project = 0
  #projectTraces = 0
  readonly #counts: { -readonly [K in keyof BackupCounts]: number } = { ...NOTHING }

  get hasBegun(): boolean {
    return this.#last !== undefined
  }

  take(value: SplitValue): BackupLine {
    const line = this.#read(value)
    const allowed = this.#last === undefined ? ['backup'] : FOLLOWING[this.#last]
    if (!allowed.includes(line.name)) {
      if (this.#last === undefined) throw notOne()
      throw damaged(`${value.place} is "${line.name}", which cannot follow "${this.#last}"`)
    }
    if (line.name === 'backup') this.#format = line.value.format
    if (line.name === 'end') this.#checkEnd(line.value)
    else this.#hash.update(value.bytes).update(LF)
    const counted = COUNTED[line.name]
    if (counted !== undefined) this.#counts[counted]++
    if (line.name === 'rows') this.#countRows(line.value)
    else if (line.name === 'trace') {
      this.#projectHash?.update(value.bytes).update(LF)
      this.#projectTraces++
    } else if (line.name === 'traces') {
      this.#project = line.value.project
      this.#projectTraces = 0
      this.#projectHash = this.#format === 1 ? createHash('sha256') : undefined
    } else if (line.name === 'sum') this.#checkSum(line.value)
    this.#last = line.name
    return line
  }

  finish(): void {
    if (this.#last === undefined) throw notOne()
    if (this.#last !== 'end') throw damaged('it is truncated: the line "end" is missing')
  }

  #read(value: SplitValue): BackupLine {
    const isFirst = this.#last === undefined
    if (value.fault !== undefined) throw isFirst ? notOne() : damaged(`${value.place} ${value.fault}`)
    if (TRACE_START.equals(value.bytes.subarray(0, TRACE_START.length))) return { name: 'trace', value }
    if (ROWS_START.equals(value.bytes.subarray(0, ROWS_START.length))) return { name: 'rows', value }
    let object: unknown
    try {
      object = JSON.parse(Buffer.from(value.bytes).toString('utf8'))
    } catch {
      throw isFirst ? notOne() : damaged(`${value.place} is not valid JSON`)
    }
    const [[name, content] = ['', undefined], ...others] = Object.entries(object ?? {})
    if (!isLineName(name) || others.length > 0) {
      throw isFirst ? notOne() : damaged(`${value.place} is not a line that this version of spoor can read`)
    }
    if (name === 'backup') requireFormat(content)
    const check = checkerOf(name)
    if (!check.check(content)) throw damaged(`${value.place}: ${check.explain(content, name)}`)
    if (name === 'act' && !isJson((content as LineOf<'act'>).detail)) {
      throw damaged(`${value.place}: act.detail: must be JSON, or null`)
    }
    return { name, value: content } as BackupLine
  }

  #countRows({ bytes, place }: SplitValue): void {
    const count = countPage(bytes)
    if (count === undefined) throw damaged(`${place} is not a page of traces`)
    this.#projectTraces += count
    this.#counts.traces += count
  }

  #checkSum({ project, traces, spans, scores, sha256 }: LineOf<'sum'>): void {
    if (project !== this.#project) throw damaged(`the checksum of project ${project} is at the end of ${this.#project}`)
    if (traces !== this.#projectTraces) {
      throw damaged(`project ${project} should have ${traces} traces, but has ${this.#projectTraces}`)
    }
    if (this.#projectHash !== undefined && this.#projectHash.digest('hex') !== sha256)
      throw damaged(`the traces of project ${project} do not match their checksum`)
    this.#counts.spans += spans
    this.#counts.scores += scores
  }

  #checkEnd({ counts, sha256 }: LineOf<'end'>): void {
    if (this.#hash.digest('hex') !== sha256) throw damaged('its contents do not match its checksum')
    for (const [name, count] of Object.entries(counts)) {
      const found = this.#counts[name as keyof BackupCounts]
      if (found !== count) throw damaged(`it should have ${count} ${name}, but has ${found}`)
    }
  }
}

function isJson(text: string | null): boolean {
  try {
    if (text !== null) JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const isLineName = (name: string): name is LineName => Object.hasOwn(LINES, name)

function checkerOf(name: LineName): Checker<unknown> {
  const known = checkers.get(name) ?? checker(LINES[name])
  checkers.set(name, known)
  return known
}

/** Rejects a backup of a later format before checking the rest of its manifest. */
function requireFormat(manifest: unknown): void {
  const { format, spoor } = (manifest ?? {}) as { format?: unknown; spoor?: unknown }
  if (typeof format !== 'number' || format <= BACKUP_FORMAT) return
  throw new AdminError(`the backup is from spoor ${spoor}, whose format this version cannot read: update spoor`)
}

const notOne = () => new AdminError('this is not a backup: it does not begin like a file from `spoor backup`')
const damaged = (reason: string) => new AdminError(`the backup is damaged: ${reason}`)
