import { Refusal } from '../errors.ts'
import { unstorable } from '../schema/text.ts'

/** Returns a store function's result. Throws `not_found` if the result is undefined or false. */
export function found<T>(value: T | undefined | false, what = 'trace in this project'): T {
  if (value === undefined || value === false) throw new Refusal('not_found', `There is no such ${what}.`)
  return value
}

/** Rejects a parameter, or a field of any body except an ingest body. */
export function refuseField(name: string, rule: string): never {
  throw new Refusal('invalid_request', `${name}: ${rule}`)
}

/** Rejects strings that a text column cannot store. Values of other types pass. */
export function checkQueryTexts(fields: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(fields)) {
    const rule = typeof value === 'string' ? unstorable(value) : undefined
    if (rule !== undefined) refuseField(name, rule)
  }
}
