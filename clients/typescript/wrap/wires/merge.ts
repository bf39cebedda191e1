/**
 * Merges the pieces of a streamed message. Texts are appended, lists are concatenated, and objects are merged, so that
 * fields which only one provider sends are kept as well.
 */

// biome-ignore lint/suspicious/noExplicitAny: messages differ between providers and versions.
type Piece = any

/** Fields that name or identify something. A repeated value replaces the earlier one. */
const NAMES = new Set(['id', 'type', 'role', 'name', 'object', 'format', 'call_id', 'signature'])
/** Parts whose pieces arrive one after another, each as a part of its own. */
const TEXT_PARTS = new Set(['text', 'thinking', 'reasoning.text', 'reasoning.summary'])

export const isRecord = (value: unknown): value is Record<string, Piece> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const recordsIn = (value: unknown): Record<string, Piece>[] =>
  Array.isArray(value) ? value.filter(isRecord) : []

/** Merges the members of `piece` into `whole`, except those that `without` names. */
export function mergeInto(whole: Record<string, Piece>, piece: unknown, without: readonly string[] = []): void {
  if (!isRecord(piece)) return
  for (const [name, value] of Object.entries(piece)) {
    if (value === null || value === undefined || without.includes(name)) continue
    whole[name] = merged(name, whole[name], value)
  }
}

function merged(name: string, before: Piece, piece: Piece): Piece {
  if (Array.isArray(piece)) return mergedList(typeof before === 'string' ? textPart(before) : (before ?? []), piece)
  if (before === undefined || before === null || NAMES.has(name)) return copy(piece)
  if (Array.isArray(before)) return typeof piece === 'string' ? mergedList(before, textPart(piece)) : piece
  if (typeof piece === 'string') return typeof before === 'string' ? before + piece : piece
  if (!isRecord(piece) || !isRecord(before)) return piece
  mergeInto(before, piece)
  return before
}

/** Content that begins as a string may continue as a list of parts, and the reverse. */
const textPart = (text: string) => (text === '' ? [] : [{ type: 'text', text }])

function mergedList(before: Piece[], pieces: readonly Piece[]): Piece[] {
  const list = [...before]
  for (const piece of pieces) {
    const at = placeOf(list, piece)
    if (at < 0) list.push(copy(piece))
    else mergeInto(list[at], piece, ['index'])
  }
  return list
}

/** Returns the index of the part that a piece continues; -1 if the piece is a part of its own. */
function placeOf(list: readonly Piece[], piece: Piece): number {
  if (!isRecord(piece) || !TEXT_PARTS.has(piece.type)) return -1
  const isSame = (part: Piece) => isRecord(part) && part.type === piece.type && part.index === piece.index
  if (typeof piece.index === 'number') return list.findLastIndex(isSame)
  return isSame(list.at(-1)) ? list.length - 1 : -1
}

/** Later pieces change the copy, and the application's objects must stay as they are. */
const copy = (value: Piece): Piece => {
  if (Array.isArray(value)) return mergedList([], value)
  return isRecord(value) ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, copy(each)])) : value
}
