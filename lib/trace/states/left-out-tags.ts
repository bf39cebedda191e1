/**
 * Marks gathered traces whose tags are incomplete, because the trace would have too many tags or because an attribute's
 * value does not fit in a tag. The mark is kept as a rank, so that it does not depend on the order of arrival.
 */
import { MAX_TAGS } from '../../schema/input.ts'
import { setMark } from '../metadata.ts'
import { type Ranks, TAGS_LEFT_OUT } from './ranks.ts'

interface Tagged {
  readonly tags: readonly string[]
  readonly tagsLeftOut?: boolean | undefined
}

/**
 * Returns all tags in alphabetical order, and the rank of the mark. If there are more than MAX_TAGS tags, keeps the
 * first in that order, so arrival order does not matter.
 */
export function uniteTags(
  stored: readonly string[],
  hints: readonly Tagged[]
): { readonly tags: readonly string[]; readonly ranks: Ranks } {
  const all = new Set(stored)
  let isLeftOut = false
  for (const { tags, tagsLeftOut } of hints) {
    for (const tag of tags) all.add(tag)
    if (tagsLeftOut === true) isLeftOut = true
  }
  const ranks: Ranks = isLeftOut || all.size > MAX_TAGS ? { [TAGS_LEFT_OUT]: [0, 0, ''] } : {}
  return { tags: [...all].sort().slice(0, MAX_TAGS), ranks }
}

/** Records in the metadata that tags were left out. */
export const markLeftOutTags = (metadata: string | null, ranks: Ranks): string | null =>
  ranks[TAGS_LEFT_OUT] === undefined ? metadata : setMark(metadata, TAGS_LEFT_OUT, true)
