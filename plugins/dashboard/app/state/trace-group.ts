/**
 * Groups of traces: the fields by which sums are split, and the groups' names in addresses, such as `model:gpt-5` and
 * `tag:prompt:v12`.
 */

export const SPLIT_FIELDS = ['model', 'name', 'environment', 'user', 'step'] as const
/** Stands for a tag whose key is not chosen yet. */
export const ANY_TAG = 'tag:'

/** Returns the field in an address: one of SPLIT_FIELDS, or `tag:KEY`; undefined if there is none. */
export function readSplitField(search: string): string | undefined {
  const by = new URLSearchParams(search).get('by') ?? ''
  return SPLIT_FIELDS.some(each => each === by) || /^tag:[^:]*$/.test(by) ? by : undefined
}

/** Returns the key of a tag's field; undefined for other fields. */
export const tagKeyOf = (by: string): string | undefined => (by.startsWith(ANY_TAG) ? by.slice(4) : undefined)

/** Returns the field's name in text: `model`, `tag prompt`. */
export const fieldName = (by: string): string => by.replace(':', ' ')

export interface TraceGroupName {
  readonly by: string
  readonly key: string
}

/** Reads a group's name; undefined if it is not of a field that traces have. */
export function readTraceGroup(text: string): TraceGroupName | undefined {
  const [, by, key] = /^(model|name|environment|user|tag:[^:]+):(.+)$/s.exec(text) ?? []
  return by === undefined || key === undefined ? undefined : { by, key }
}

export const writeTraceGroup = ({ by, key }: TraceGroupName): string => `${by}:${key}`

/** Returns the parameters by which a list of traces shows the group. `kind` is the kind of a step. */
export function groupFilters(by: string, key: string, kind: string | null = null): Readonly<Record<string, string>> {
  const tag = tagKeyOf(by)
  if (tag !== undefined) return { tag: `${tag}:${key}` }
  if (by === 'step') return { step: key, ...(kind !== null && { kind }) }
  return { [by === 'environment' ? 'env' : by]: key }
}

/** Adds parameters to an address with or without a query string. */
export function withParameters(address: string, parameters: Readonly<Record<string, string>>): string {
  const [path, search] = address.split('?')
  const written = new URLSearchParams(search)
  for (const [name, value] of Object.entries(parameters)) written.set(name, value)
  return written.size === 0 ? path! : `${path}?${written}`
}
