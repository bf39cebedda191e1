/**
 * Defines the lines of a backup, which is NDJSON in this order:
 *
 *     {"backup":{…}}                         the manifest: format, time and counts
 *     {"account":{…}} {"project":{…}} {"user":{…}} {"member":{…}} {"key":{…}}
 *     for each project:
 *       {"traces":{"project":1}}             the lines up to the sum belong to this project
 *       {"rows":{…}}                         a page of traces, as the rows of their tables (stored-page.ts)
 *       {"trace":{…},"spans":[…],…}          a long trace, or one with messages apart, as `spoor export` writes it
 *       {"messages":{…}}                     log records that arrived before their trace
 *       {"author":{…}}                       the author of a score given in the dashboard
 *       {"sum":{…}}                          counts
 *     {"act":{…}}                            audit entries
 *     {"end":{…}}                            counts, and the SHA-256 of every byte before this line
 *
 * A reader accepts its own format and earlier formats. New fields are allowed; an unknown kind of line is rejected.
 * Format 1 has no rows: each trace has its own line, and is packed and hashed again when it is restored. Its sums hold
 * the SHA-256 of the project's trace lines.
 */

import Type, { type Static, type TSchema } from 'typebox'
import { SpanId, Timestamp, TraceId } from '../../schema/input.ts'
import { closed } from '../../schema/object.ts'
import { PricedModel, PriceRange } from '../../schema/price.ts'
import { ROLES } from '../../schema/roles.ts'
import { ViewName, ViewPage, ViewQuery } from '../../schema/saved-view.ts'
import { SCOPES } from '../../schema/scopes.ts'
import { ScoreDefinition } from '../../schema/score-definition.ts'
import type { StoredPage } from '../../store/instance/stored-page.ts'

export const BACKUP_FORMAT = 2

const orNull = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])
const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const Id = Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 })
const hex = (digits: number) =>
  Type.String({ pattern: `^[0-9a-f]{${digits}}$`, patternRule: `must be ${digits} lower-case hexadecimal digits` })
const Text = Type.String()
/**
 * The rules below reject values that no other entry point has ever accepted. A backup has a checksum but no signature,
 * so anyone who can write the file may have edited it.
 */
const NO_CONTROLS = { pattern: '^[^\\p{Cc}\\p{Cs}]*$', patternRule: 'must not contain control characters' }
const Line = Type.String({ ...NO_CONTROLS, maxLength: 200 })
const Name = Type.String({ ...NO_CONTROLS, minLength: 1, maxLength: 200 })
const Description = Type.String({ ...NO_CONTROLS, maxLength: 2000 })
const Slug = Type.String({
  pattern: '^[a-z0-9][a-z0-9_-]{0,63}$',
  patternRule: 'must be 1 to 64 lower-case letters, digits, hyphens or underscores, beginning with a letter or digit'
})
const Label = Type.String({
  pattern: '^[a-z0-9][a-z0-9_-]{0,31}$',
  patternRule: 'must be 1 to 32 lower-case letters, digits, hyphens or underscores, beginning with a letter or digit'
})
const Email = Type.String({
  pattern: '^[^\\s\\p{Cc}\\p{Cs}]{1,254}$',
  patternRule: 'must be 1 to 254 characters, with no spaces or control characters'
})
const KeyId = Type.String({
  pattern: '^[0-9A-Za-z_-]{1,64}$',
  patternRule: 'must be 1 to 64 letters, digits, hyphens or underscores'
})
const Action = Type.String({
  pattern: '^[a-z]+(?:[.-][a-z]+)*$',
  patternRule: 'must be lower-case words, with dots or hyphens between them'
})
const Query = Type.String({
  ...ViewQuery,
  pattern: '^(?:\\?[^#\\p{Cc}\\p{Cs}]*)?$',
  patternRule: 'must be empty, or begin with ? and contain no # or control characters'
})

const Counts = closed({
  accounts: Count,
  projects: Count,
  users: Count,
  members: Count,
  keys: Count,
  traces: Count,
  spans: Count,
  scores: Count,
  messages: Count,
  authors: Count,
  acts: Count
})
export type BackupCounts = Static<typeof Counts>
/** The counts in the manifest. The remaining counts are collected while the backup is written. */
const KNOWN = ['accounts', 'projects', 'users', 'members', 'keys', 'traces', 'spans', 'scores'] as const

const Price = Type.Number(PriceRange)
/** A price that an operator set. */
const ModelPrice = closed({
  model: Type.String({ ...PricedModel, ...NO_CONTROLS }),
  from: orNull(Timestamp),
  input: Price,
  output: Price,
  cacheRead: orNull(Price),
  cacheWrite: orNull(Price)
})

const Manifest = closed({
  format: Type.Integer({ minimum: 1 }),
  /** Random id that identifies the backup when an interrupted restore is resumed. */
  id: hex(32),
  /** Versions of spoor and of the database schema when the backup was made. */
  spoor: Text,
  schema: Count,
  takenAt: Timestamp,
  /** Identifies the KEY_DIGEST_SECRET with which the keys were made; null if no key was ever made. */
  secret: orNull(closed({ salt: hex(32), fingerprint: hex(64), madeAt: Timestamp })),
  /** Prices that apply to all projects. Absent if there are none, and in backups from versions without prices. */
  prices: Type.Optional(Type.Array(ModelPrice)),
  counts: Type.Pick(Counts, [...KNOWN], { additionalProperties: false })
})
export type Manifest = Static<typeof Manifest>

const Account = closed({
  id: Id,
  name: Name,
  type: Type.Enum(['owner', 'trial']),
  trialUsed: Count,
  createdAt: Timestamp,
  requiresFactor: Type.Optional(Type.Boolean())
})

/** A saved view. `userId` is null for a shared view. */
const View = closed({
  userId: orNull(Id),
  name: Type.String({ ...ViewName, ...NO_CONTROLS }),
  page: Type.Unsafe<string>(ViewPage),
  query: Query,
  createdAt: Timestamp
})

const Project = closed({
  id: Id,
  accountId: Id,
  name: Name,
  slug: Slug,
  description: Description,
  storageLimit: orNull(Count),
  createdAt: Timestamp,
  /** The project's saved views. Absent if there are none, and in backups from versions without saved views. */
  views: Type.Optional(Type.Array(View)),
  /** The project's own prices. Absent if there are none, and in backups from versions without prices. */
  prices: Type.Optional(Type.Array(ModelPrice)),
  /** The project's score definitions. Absent if there are none, and in backups from versions without definitions. */
  scoreDefinitions: Type.Optional(Type.Array(ScoreDefinition)),
  /**
   * Whether word search is on for the project. Absent in backups from older versions. The index is not backed up
   * because it can be rebuilt.
   */
  search: Type.Optional(Type.Boolean()),
  /** The keys of tags by which usage is summed. Absent if there are none, and in backups from older versions. */
  usageTags: Type.Optional(Type.Array(Type.String(NO_CONTROLS))),
  /** How long traces are kept. Absent if there is no limit, and in backups from older versions. */
  retention: Type.Optional(
    closed({
      days: Type.Integer({ minimum: 1, maximum: 36_500 }),
      keepsScored: Type.Boolean(),
      keepsTags: Type.Array(Type.String(NO_CONTROLS))
    })
  )
})

/** A user's identity at an OpenID Connect provider. */
const Identity = closed({
  issuer: Type.String({ ...NO_CONTROLS, minLength: 1 }),
  subject: Type.String({ minLength: 1, maxLength: 255 }),
  linkedAt: Timestamp
})

/** A user's second factor. The secret is encrypted with a key derived from KEY_DIGEST_SECRET. */
const Factor = closed({
  secret: Type.String({ pattern: '^[\\w-]{40,200}$' }),
  confirmedAt: Timestamp,
  recovery: Type.Array(hex(64), { maxItems: 100 })
})

const User = closed({
  id: Id,
  email: Email,
  name: Line,
  password: orNull(Text),
  createdAt: Timestamp,
  identities: Type.Optional(Type.Array(Identity)),
  oidcEmailUntil: Type.Optional(orNull(Timestamp)),
  factor: Type.Optional(Factor)
})

const Member = closed({
  accountId: Id,
  userId: Id,
  role: Type.Enum([...ROLES]),
  byClaim: Type.Optional(Type.Boolean()),
  createdAt: Timestamp
})

const Key = closed({
  id: KeyId,
  projectId: Id,
  label: Line,
  scopes: orNull(Type.Array(Type.Enum([...SCOPES]))),
  environment: orNull(Label),
  digest: hex(64),
  createdAt: Timestamp,
  expiresAt: orNull(Timestamp),
  lastUsedAt: orNull(Timestamp),
  revokedAt: orNull(Timestamp)
})

const Messages = closed({
  traceId: TraceId,
  spanId: SpanId,
  micros: Count,
  place: Count,
  digest: hex(32),
  input: orNull(Text),
  output: orNull(Text),
  event: Type.Optional(orNull(Text)),
  facts: Type.Optional(orNull(Text)),
  call: Type.Optional(orNull(Text))
})

const Author = closed({ traceId: TraceId, scoreId: SpanId, userId: Id })

const AuditEntry = closed({
  at: Timestamp,
  userId: orNull(Id),
  accountId: orNull(Id),
  projectId: orNull(Id),
  action: Action,
  detail: orNull(Text),
  /** Not in backups from before migration 26. */
  client: Type.Optional(orNull(Text))
})

const Sum = closed({
  project: Id,
  traces: Count,
  spans: Count,
  scores: Count,
  /** Only in format 1. */
  sha256: Type.Optional(hex(64))
})
export type ProjectSum = Static<typeof Sum>

/** Schemas of all lines except trace lines, by the name of the line's only member. */
export const LINES = {
  backup: Manifest,
  account: Account,
  project: Project,
  user: User,
  member: Member,
  key: Key,
  traces: closed({ project: Id }),
  messages: Messages,
  author: Author,
  sum: Sum,
  act: AuditEntry,
  end: closed({ counts: Counts, sha256: hex(64) })
}
export type LineName = keyof typeof LINES
export type LineOf<K extends LineName> = Static<(typeof LINES)[K]>

/** Serializes a line, including the line break. */
export const lineOf = <K extends LineName>(name: K, value: LineOf<K>): string =>
  `${JSON.stringify({ [name]: value })}\n`

/** The beginning of a trace line. No other line begins this way. */
export const TRACE_START = Buffer.from('{"trace":')

/** The beginning of a line of rows, up to the number of traces. */
export const ROWS_START = Buffer.from('{"rows":{"count":')
const TABLES = ['traces', 'spans', 'scores'] as const

/** Serializes a page of this many traces. Rows are in base64. */
export const encodePage = (page: StoredPage, count: number): Buffer =>
  Buffer.from(
    `${ROWS_START}${count}${TABLES.map(name => `,"${name}":"${page[name].toString('base64')}"`).join('')}}}\n`
  )

/** Returns the number of traces that a line of rows declares; undefined if the line is malformed. */
export function countPage(line: Uint8Array): number | undefined {
  const head = Buffer.from(line.buffer, line.byteOffset, Math.min(line.length, ROWS_START.length + 6))
  const count = Number(/^[1-9]\d{0,4}(?=,)/.exec(head.toString('latin1', ROWS_START.length))?.[0])
  return Number.isNaN(count) ? undefined : count
}

const QUOTE = 0x22

/** Returns the rows of a line; undefined if the line is malformed. */
export function decodePage(line: Uint8Array): StoredPage | undefined {
  const bytes = Buffer.from(line.buffer, line.byteOffset, line.length)
  let at = ROWS_START.length
  const nextQuoted = (): Buffer | undefined => {
    const from = bytes.indexOf(QUOTE, at) + 1
    const end = from === 0 ? -1 : bytes.indexOf(QUOTE, from)
    at = end === -1 ? bytes.length : end + 1
    return end === -1 ? undefined : bytes.subarray(from, end)
  }
  const [traces, spans, scores] = TABLES.map(name => {
    const isNamed = nextQuoted()?.toString('latin1') === name
    return isNamed ? fromBase64(nextQuoted() ?? NO_BYTES) : undefined
  })
  return traces && spans && scores && { traces, spans, scores }
}

/** Number of characters that are decoded together. A long string would be allocated outside the young generation. */
const DECODED_TOGETHER = 64 * 1024

/** Decodes base64 into shared memory, which V8 does not count (lib/rows/thread-bytes.ts). */
function fromBase64(text: Buffer): Buffer {
  const bytes = Buffer.from(new SharedArrayBuffer(Math.floor((text.length * 3) / 4)))
  let length = 0
  for (let from = 0; from < text.length; from += DECODED_TOGETHER) {
    length += bytes.write(text.toString('latin1', from, from + DECODED_TOGETHER), length, 'base64')
  }
  return bytes.subarray(0, length)
}
const NO_BYTES = Buffer.alloc(0)

export const SUMMED = ['traces', 'spans', 'scores'] as const
type Sums = Record<(typeof SUMMED)[number], number>
export const noSums = (): Sums => ({ traces: 0, spans: 0, scores: 0 })

/** Adds the counts of a part of a project. */
export function addSums(sums: Sums, part: Readonly<Sums>): void {
  for (const name of SUMMED) sums[name] += part[name]
}

export const NOTHING = Object.fromEntries(Object.keys(Counts.properties).map(name => [name, 0])) as BackupCounts
