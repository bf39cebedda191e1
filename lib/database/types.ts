/** How values travel between PostgreSQL and node; the table is in connection.ts. */

/** What the driver needs to know of a type. */
interface DriverType {
  readonly to: number
  readonly from: number[]
  readonly serialize: (value: unknown) => string
  readonly parse: (text: string) => unknown
}

/** Object identifiers of pg_type, which are the same in every PostgreSQL. */
const OID = { bytea: 17, int8: 20, json: 114, timestamptz: 1184, uuid: 2950, jsonb: 3802 }

const timestamptz: DriverType = {
  to: OID.timestamptz,
  from: [OID.timestamptz],
  serialize: value => (value instanceof Date ? value.toISOString() : String(value)),
  parse: readTimestamp
}
const int8: DriverType = { to: OID.int8, from: [OID.int8], serialize: String, parse: Number }
const json: DriverType = {
  to: OID.json,
  from: [OID.json, OID.jsonb],
  serialize: value => (typeof value === 'string' ? value : JSON.stringify(value)),
  parse: text => text
}
const bytea: DriverType = {
  to: OID.bytea,
  from: [OID.bytea],
  serialize: value => `\\x${typeof value === 'string' ? value : Buffer.from(value as Uint8Array).toString('hex')}`,
  parse: text => text.slice(2)
}
const uuid: DriverType = {
  to: OID.uuid,
  from: [OID.uuid],
  serialize: String,
  parse: text => text.slice(0, 8) + text.slice(9, 13) + text.slice(14, 18) + text.slice(19, 23) + text.slice(24)
}
const text = { serialize: String, parse: (text: string) => text }
const number = { serialize: String, parse: Number }

export const TYPES: Readonly<Record<string, DriverType>> = {
  timestamptz,
  int8,
  json,
  bytea,
  uuid,
  texts: arrayOf(text, { text: 1009, varchar: 1015, name: 1003 }),
  numbers: arrayOf(number, { int2: 1005, int4: 1007, int8: 1016, float4: 1021, float8: 1022 }),
  booleans: arrayOf({ serialize: String, parse: text => text === 't' }, { bool: 1000 }),
  timestamps: arrayOf(timestamptz, { timestamptz: 1185 }),
  jsons: arrayOf(json, { json: 199, jsonb: 3807 }),
  byteas: arrayOf(bytea, { bytea: 1001 }),
  uuids: arrayOf(uuid, { uuid: 2951 })
}

/** `YYYY-MM-DD HH:MM:SS`, before the fraction. */
const SECONDS_LENGTH = 19

/**
 * PostgreSQL's text of a timestamptz in UTC (`2026-11-21 12:00:00.12+00`) in the form of answers. Only the years 0001 to
 * 9999 come here: nothing else is let in.
 */
function readTimestamp(text: string): string {
  const fraction = text.slice(SECONDS_LENGTH + 1, -'+00'.length)
  const digits = fraction.padEnd(fraction.length > 3 ? 6 : 3, '0')
  return `${text.slice(0, 10)}T${text.slice(11, SECONDS_LENGTH)}.${digits}Z`
}

/** Arrays of one dimension. A string is taken for an array literal, and sent as it is. */
function arrayOf({ serialize, parse }: Omit<DriverType, 'to' | 'from'>, oids: Record<string, number>): DriverType {
  const from = Object.values(oids)
  const element = (value: unknown) =>
    value === null || value === undefined ? 'null' : `"${serialize(value).replace(/["\\]/g, '\\$&')}"`
  return {
    to: from[0] as number,
    from,
    serialize: value => (Array.isArray(value) ? `{${value.map(element).join(',')}}` : String(value)),
    parse: literal => readArray(literal).map(each => (each === null ? null : parse(each)))
  }
}

/** The elements of an array literal of one dimension. */
function readArray(literal: string): (string | null)[] {
  const elements: (string | null)[] = []
  for (const [whole, quoted] of literal.slice(1, -1).matchAll(/"((?:[^"\\]|\\.)*)"|[^,]+/gs)) {
    if (quoted !== undefined) elements.push(quoted.replace(/\\(.)/gs, '$1'))
    else elements.push(whole === 'NULL' ? null : whole)
  }
  return elements
}
