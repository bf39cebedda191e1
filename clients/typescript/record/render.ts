/** Traces and spans as the texts of request bodies: objects whose members are JSON texts already. */

/** JSON texts by the names that the API has for them; undefined is not there. */
export type Texts = Record<string, string | undefined>

/** A finished span. */
export interface SpanRecord {
  readonly id: string
  readonly parentSpanId: string | undefined
  readonly kind: string
  readonly status: string
  readonly endedAt: number
  readonly text: string
  /** About as many as the text has. */
  readonly bytes: number
}

/** The fields that only the start, or only the end, of a trace can set. */
export const START_FIELDS: readonly string[] = ['id', 'name', 'startedAt', 'sessionId', 'userId', 'input']
export const END_FIELDS: readonly string[] = ['status', 'endedAt', 'output', 'usage', 'costUsd']

/** The JSON of a value; undefined for undefined. */
export const json: (value: unknown) => string | undefined = JSON.stringify

/** JSON of a string that needs no escapes, such as an id or a time. */
export const quoted = (text: string) => `"${text}"`

/** An object with the members that are there, but for some. */
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

/** An object of names that others gave. */
export function membersText(members: ReadonlyMap<string, string>): string | undefined {
  if (members.size === 0) return undefined
  return `{${Array.from(members, ([name, text]) => `${json(name)}:${text}`).join()}}`
}

export const listText = (texts: readonly string[]): string | undefined =>
  texts.length === 0 ? undefined : `[${texts.join()}]`

/** A body, with what else it has. */
export const bodyText = (members: Texts): string => objectText([], SCHEMA, members)
export const SCHEMA = { schemaVersion: '1' }
