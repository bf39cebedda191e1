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
  /** Of the text. */
  readonly bytes: number
}

/** What only the start, and what only the end of a trace can say. */
export const START_FIELDS: readonly string[] = ['id', 'name', 'startedAt', 'sessionId', 'userId', 'input']
export const END_FIELDS: readonly string[] = ['status', 'endedAt', 'output', 'usage', 'costUsd']

/** The JSON of a value; undefined for undefined. */
export const json: (value: unknown) => string | undefined = JSON.stringify

/** An object with the members that are there, but for some; undefined without any. */
export function objectText(
  members: Iterable<readonly [name: string, text: string | undefined]>,
  without: readonly string[] = []
): string | undefined {
  let text = ''
  for (const [name, value] of members) {
    if (value !== undefined && !without.includes(name)) text += `${text && ','}${JSON.stringify(name)}:${value}`
  }
  return text ? `{${text}}` : undefined
}

export const listText = (texts: readonly (string | undefined)[]): string | undefined =>
  texts.length === 0 ? undefined : `[${texts.join()}]`

/** A body, with what else it has. */
export const bodyText = (members: Texts, without?: readonly string[]): string =>
  objectText(Object.entries({ schemaVersion: '1', ...members }), without)!
