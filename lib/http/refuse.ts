/** Refusals that many handlers share. */
import { Refusal } from '../errors.ts'
import { unstorable } from '../trace/normalise.ts'

/** What a store function gave, or `not_found` where it gave nothing. */
export function found<T>(value: T | undefined | false, what = 'trace in this project'): T {
  if (value === undefined || value === false) throw new Refusal('not_found', `There is no such ${what}.`)
  return value
}

/** Refuses a parameter, or a field of a body other than ingest. */
export function refuseField(name: string, rule: string): never {
  throw new Refusal('invalid_request', `${name}: ${rule}`)
}

/** Refuses a text that no text column can hold. What is not a text passes. */
export function checkTexts(fields: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(fields)) {
    const rule = typeof value === 'string' ? unstorable(value) : undefined
    if (rule !== undefined) refuseField(name, rule)
  }
}
