/** Records spoor's own notes about a trace in the `spoor` member of its metadata. */
import { type Json, parseExact, stringifyExact } from '../json/exact-json.ts'

/**
 * Sets one key of the `spoor` member; `undefined` removes the key. If a client has set `spoor` to anything but an
 * object, leaves that value unchanged.
 */
export function setMark(metadata: string | null, key: string, mark: Json | undefined): string | null {
  const all = metadata === null ? {} : (parseExact(metadata) as Record<string, Json>)
  const marks = Object.hasOwn(all, 'spoor') ? all.spoor : {}
  if (marks === null || typeof marks !== 'object' || Array.isArray(marks)) return metadata
  const { [key]: _, ...others } = marks as Record<string, Json>
  const set = mark === undefined ? others : { ...others, [key]: mark }
  const { spoor: __, ...rest } = all
  const text = stringifyExact(Object.keys(set).length === 0 ? rest : { ...rest, spoor: set })
  return text === '{}' ? null : text
}
