/** Renders traces and spans as request bodies. Object members are already JSON strings. */

/** JSON strings by API field name. Undefined members are omitted. */
export type Texts = Record<string, string | undefined>

export interface SpanRecord {
  readonly id: string
  readonly parentSpanId: string | undefined
  readonly kind: string
  readonly status: string
  readonly endedAt: number
  readonly text: string
  /** Approximate size of `text`. */
  readonly bytes: number
}

/** Fields that can be set only by a trace's start request, or only by its end request. */
export const START_FIELDS: readonly string[] = ['id', 'name', 'startedAt', 'sessionId', 'userId', 'input']
export const END_FIELDS: readonly string[] = ['status', 'endedAt', 'output', 'usage', 'costUsd']

/** Returns a value's JSON; undefined for undefined. */
export const renderJson: (value: unknown) => string | undefined = JSON.stringify

/** Returns the JSON of a string that needs no escaping, such as an id or a time. */
export const quoted = (text: string) => `"${text}"`

/** Returns a JSON object with the defined members, except those that `without` names. */
export function objectText(without: readonly string[], ...parts: readonly Texts[]): string {
  let text = ''
  for (const part of parts) {
    for (const name in part) {
      const value = part[name]
      if (value !== undefined && !without.includes(name)) text += `${text && ','}"${name}":${value}`
    }
  }
  return `{${text}}`
}

/** Returns a JSON object with application-defined names; undefined if there are no members. */
export function membersText(members: ReadonlyMap<string, string>): string | undefined {
  if (members.size === 0) return undefined
  return `{${Array.from(members, ([name, text]) => `${renderJson(name)}:${text}`).join()}}`
}

export const listText = (texts: readonly string[]): string | undefined =>
  texts.length === 0 ? undefined : `[${texts.join()}]`

/** Returns a request body with the schema version and the given members. */
export const bodyText = (members: Texts): string => objectText([], SCHEMA, members)
export const SCHEMA = { schemaVersion: '1' }
