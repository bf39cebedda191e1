/**
 * Numbers in canonical JSON. RFC 8785 knows only doubles; a number that no double holds has the normal form of
 * lib/schema/decimal.ts, so that identity is blind to its spelling.
 *
 * Up to 1.0.0-rc.1 such a number stood in canonical JSON as it was spelled, and hashes were stored of that. So that a
 * resend of what was recorded then is still recognised, a body in which the two forms differ is hashed in both.
 */
import { isHeld, normalForm } from '../../schema/decimal.ts'

/** Whether numbers are written in the former form. A thread makes one body ready at a time. */
let isFormer = false
/** Whether some number was written whose former form is another. */
let hasFormer = false

/** A number in its canonical form. */
export function canonicalNumber(literal: string): string {
  if (isShort(literal) || isHeld(literal)) return String(Number(literal))
  const form = normalForm(literal)
  if (form === literal) return form
  hasFormer = true
  return isFormer ? literal : form
}

/** Up to 15 significant digits always survive a double. */
const isShort = (literal: string): boolean => literal.length <= 15 && !/e/i.test(literal)

export interface BothForms<T> {
  readonly made: T
  /** The same in the former form; undefined if no number has another form there. */
  readonly former: T | undefined
}

/** Makes something of canonical JSON, and makes it again in the former form if that differs. */
export function inBothForms<T>(make: () => T): BothForms<T> {
  hasFormer = false
  const made = make()
  if (!hasFormer) return { made, former: undefined }
  isFormer = true
  try {
    return { made, former: make() }
  } finally {
    isFormer = false
  }
}

/** The form in which numbers are being written now, from a value that was made in both forms. */
export function inPresentForm<T>({ made, former }: BothForms<T>): T {
  if (former === undefined) return made
  hasFormer = true
  return isFormer ? former : made
}
