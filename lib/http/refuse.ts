/** Refusals that many handlers share. */
import { Refusal } from '../errors.ts'
import { unstorable } from '../schema/text.ts'

/** Passes on what a store function returned. Throws `not_found` if it returned undefined or false. */
export function found<T>(value: T | undefined | false, what = 'trace in this project'): T {
  if (value === undefined || value === false) throw new Refusal('not_found', `There is no such ${what}.`)
  return value
}

/** Refuses a parameter, or a field of a body other than ingest. */
export function refuseField(name: string, rule: string): never {
  throw new Refusal('invalid_request', `${name}: ${rule}`)
}

/** Refuses fields whose text no text column can store. Values that are not texts pass. */
export function checkQueryTexts(fields: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(fields)) {
    const rule = typeof value === 'string' ? unstorable(value) : undefined
    if (rule !== undefined) refuseField(name, rule)
  }
}
