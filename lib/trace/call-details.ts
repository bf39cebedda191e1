/**
 * Facts of a model call beside the fields that every span has. They are stored with the span as JSON text. They are not
 * part of its hash, since they follow from the attributes, which are.
 */
export interface CallDetails {
  /** The id that the provider gave its response, by which two reports of one call are recognised. */
  readonly responseId?: string
}

/** JSON text; null if there are none. */
export const callDetailsText = ({ responseId }: { readonly responseId: string | undefined }): string | null =>
  responseId === undefined ? null : JSON.stringify({ responseId } satisfies CallDetails)

/** Whether a value, which may come from a file that anybody wrote, has the form of call details. */
export function isCallDetails(value: unknown): value is CallDetails {
  if (typeof value !== 'object' || value === null) return false
  const { responseId, ...others } = value as Record<string, unknown>
  const isId = responseId === undefined || (typeof responseId === 'string' && responseId.length > 0)
  return isId && Object.keys(others).length === 0
}
