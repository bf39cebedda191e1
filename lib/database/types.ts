/**
 * Defines how the driver reads and writes values:
 *
 * | column      | read as                                              | parameter                                   |
 * |-------------|------------------------------------------------------|---------------------------------------------|
 * | timestamptz | `2026-11-21T12:00:00.123Z`, or six digits if needed  | any string PostgreSQL accepts, or a Date    |
 * | int8        | a number (exact to 2^53)                             | a number or a bigint                        |
 * | json, jsonb | a string, not parsed                                 | a string, sent as is; otherwise serialized  |
 * | bytea       | lowercase hexadecimal digits                         | hexadecimal digits, or bytes                |
 * | uuid        | 32 hexadecimal digits                                | hexadecimal digits, with or without dashes  |
 *
 * Arrays of these types, strings, numbers and booleans are read as arrays, with null elements as null. Array parameters
 * may be arrays or their PostgreSQL text, and require a cast (`${ids}::uuid[]`; for booleans, `text[]`).
 */
import type postgres from 'postgres'

interface Type {
  /** Object identifiers of the type and its array type in pg_type, identical in every PostgreSQL installation. */
  readonly oid: number
  readonly arrayOid: number
  readonly read: (text: string) => unknown
  readonly write: (value: unknown) => string
}

const asText = (text: string) => text
const writeJson = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
const readBoolean = (text: string) => text === 't'
const writeTimestamp = (value: unknown) => (value instanceof Date ? value.toISOString() : String(value))
const writeBytes = (value: unknown) =>
  `\\x${typeof value === 'string' ? value : Buffer.from(value as Uint8Array).toString('hex')}`
/** Removes the dashes from PostgreSQL's text form of a uuid. */
export const readUuid = (text: string): string =>
  text.slice(0, 8) + text.slice(9, 13) + text.slice(14, 18) + text.slice(19, 23) + text.slice(24)

const TYPES_BY_NAME: Record<string, Type> = {
  bool: { oid: 16, arrayOid: 1000, read: readBoolean, write: String },
  bytea: { oid: 17, arrayOid: 1001, read: text => text.slice('\\x'.length), write: writeBytes },
  name: { oid: 19, arrayOid: 1003, read: asText, write: String },
  int8: { oid: 20, arrayOid: 1016, read: Number, write: String },
  int2: { oid: 21, arrayOid: 1005, read: Number, write: String },
  int4: { oid: 23, arrayOid: 1007, read: Number, write: String },
  text: { oid: 25, arrayOid: 1009, read: asText, write: String },
  json: { oid: 114, arrayOid: 199, read: asText, write: writeJson },
  float4: { oid: 700, arrayOid: 1021, read: Number, write: String },
  float8: { oid: 701, arrayOid: 1022, read: Number, write: String },
  varchar: { oid: 1043, arrayOid: 1015, read: asText, write: String },
  timestamptz: { oid: 1184, arrayOid: 1185, read: readTimestamp, write: writeTimestamp },
  numeric: { oid: 1700, arrayOid: 1231, read: asText, write: String },
  uuid: { oid: 2950, arrayOid: 2951, read: readUuid, write: String },
  jsonb: { oid: 3802, arrayOid: 3807, read: asText, write: writeJson }
}

/**
 * The types in the driver's format, each followed by its array type. Names become properties of the driver instance.
 */
export const TYPES: Record<string, postgres.PostgresType> = Object.fromEntries(
  Object.entries(TYPES_BY_NAME).flatMap(([name, { oid, arrayOid, read, write }]) => [
    [`${name} value`, { to: oid, from: [oid], parse: read, serialize: write }],
    [
      `${name} array`,
      {
        to: arrayOid,
        from: [arrayOid],
        parse: (text: string) => readArray(text, read),
        serialize: (values: unknown) => writeArray(values, write)
      }
    ]
  ])
)

/** Length of `YYYY-MM-DD HH:MM:SS`, which precedes the fraction. */
const SECONDS_LENGTH = 19

/**
 * Converts PostgreSQL's text of a UTC timestamptz (`2026-11-21 12:00:00.12+00`) to the format of API responses.
 * Supports only the years 0001 to 9999, because no other years are stored.
 */
export function readTimestamp(text: string): string {
  const fraction = text.slice(SECONDS_LENGTH + 1, -'+00'.length)
  const digits = fraction.padEnd(fraction.length > 3 ? 6 : 3, '0')
  return `${text.slice(0, 10)}T${text.slice(11, SECONDS_LENGTH)}.${digits}Z`
}

/**
 * The text format of one-dimensional arrays, `{a,"b \"c\"",NULL}`, replaces the driver's own array support. The driver
 * reads null as the string 'NULL' and queries array types at the start of every connection. If the backend dies during
 * that query, the error cannot be caught and ends the process.
 */
const NEEDS_ESCAPE = /["\\]/g

/** Formats an array. A value that is not an array must already be formatted. Undefined elements become null. */
function writeArray(values: unknown, write: (value: unknown) => string): string {
  if (!Array.isArray(values)) return String(values)
  const element = (value: unknown) => (value === null || value === undefined ? 'NULL' : quote(write(value)))
  return `{${values.map(element).join()}}`
}

function quote(text: string): string {
  return `"${text.replace(NEEDS_ESCAPE, '\\$&')}"`
}

function readArray(text: string, read: (text: string) => unknown): unknown[] {
  const values: unknown[] = []
  // `at` starts inside the opening brace. Each iteration consumes an element and the following comma or closing brace.
  for (let at = 1; at < text.length - 1; ) {
    const quoted = text[at] === '"'
    const end = quoted ? findClosingQuote(text, at + 1) : findEnd(text, at)
    const element = text.slice(quoted ? at + 1 : at, end)
    if (quoted) values.push(read(element.replace(/\\(.)/gs, '$1')))
    else values.push(element === 'NULL' ? null : read(element))
    at = end + (quoted ? 2 : 1)
  }
  return values
}

function findClosingQuote(text: string, start: number): number {
  let at = start
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at
}

function findEnd(text: string, start: number): number {
  const comma = text.indexOf(',', start)
  return comma === -1 ? text.length - 1 : comma
}
