/**
 * Facts about a model call that have no field of their own. They are stored with the span as JSON, and are not part of
 * the span's hash, because they follow from its attributes.
 */
export interface CallDetails {
  /** The provider's response id, which identifies two reports of one call. */
  readonly responseId?: string
}

/** Returns the details as JSON; null if there are none. */
export const callDetailsText = ({ responseId }: { readonly responseId: string | undefined }): string | null =>
  responseId === undefined ? null : JSON.stringify({ responseId } satisfies CallDetails)

/** Returns the names of a span's calls, as log records refer to them. */
export const callsOf = ({ responseId }: CallDetails): readonly string[] =>
  responseId === undefined ? [] : [`request:${responseId}`]

/** Whether a value from an untrusted file has the form of call details. */
export function isCallDetails(value: unknown): value is CallDetails {
  if (typeof value !== 'object' || value === null) return false
  const { responseId, ...others } = value as Record<string, unknown>
  const isId = responseId === undefined || (typeof responseId === 'string' && responseId.length > 0)
  return isId && Object.keys(others).length === 0
}
