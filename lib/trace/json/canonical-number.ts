/**
 * Formats numbers for canonical JSON. RFC 8785 covers only doubles. Numbers that no double represents exactly are
 * written in the normal form of lib/schema/decimal.ts, so that spelling does not affect identity.
 *
 * Versions up to 1.0.0-rc.1 hashed such numbers as sent (the former form). To recognise resends of bodies stored by
 * those versions, a body whose two forms differ is hashed in both forms.
 */
import { isHeld, normalForm } from '../../schema/decimal.ts'

/**
 * Whether numbers are written in the former form. A module variable is safe, because a thread prepares one body at a
 * time.
 */
let isFormer = false
/** Whether any number written so far has a different former form. */
let hasFormer = false

export function canonicalNumber(literal: string): string {
  if (isShort(literal) || isHeld(literal)) return String(Number(literal))
  const form = normalForm(literal)
  if (form === literal) return form
  hasFormer = true
  return isFormer ? literal : form
}

/** Numbers of up to 15 significant digits always survive conversion to a double. */
const isShort = (literal: string): boolean => literal.length <= 15 && !/e/i.test(literal)

export interface BothForms<T> {
  readonly made: T
  /** The result in the former form. Undefined if both forms are the same. */
  readonly former: T | undefined
}

/** Calls the `make` callback. If the two forms differ, calls `make` again with numbers in the former form. */
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

/** Returns the result in the form that is currently being written. */
export function inPresentForm<T>({ made, former }: BothForms<T>): T {
  if (former === undefined) return made
  hasFormer = true
  return isFormer ? former : made
}
