/**
 * Markdown as a tree of the few things that the page draws. HTML in it is text, links go to `https:`, `http:` and
 * `mailto:` only, images are data URIs only: so there is nothing to sanitise. The reader is our own, since what others
 * offer is four times its size and takes a time that grows with the square of some texts; ours grows with their length.
 * It reads CommonMark and GitHub's tables, tasks and strikes, but for HTML, entities and bare e-mail addresses, which
 * stay text; a line break is one, as people and models mean it.
 */
import { readBlocks } from './blocks.ts'
import type { Markdown } from './nodes.ts'

/** Longer texts are shown as text. */
export const MARKDOWN_MOST = 150_000

/** Undefined where the text is too long. */
export function readMarkdown(text: string): Markdown[] | undefined {
  return text.length > MARKDOWN_MOST ? undefined : readBlocks(text.replace(/\r\n?/g, '\n').split('\n'))
}
