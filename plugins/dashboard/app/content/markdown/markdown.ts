/**
 * Parses Markdown into a tree of the few elements that the page draws. HTML stays text, links may only use `https:`,
 * `http:` and `mailto:`, and images must be data URIs, so nothing needs sanitising. Existing parsers are four times
 * this one's size and take quadratic time for some texts; this parser takes linear time. It supports CommonMark and
 * GitHub's tables, tasks and strikethrough, but not HTML, entities or bare e-mail addresses, which stay text. Line
 * breaks are kept, as people and models intend.
 */
import { readBlocks } from './blocks.ts'
import type { Markdown } from './nodes.ts'

/** Maximum length for Markdown, in characters. */
export const MARKDOWN_MOST = 150_000

/** Returns the parsed text; undefined if the text is too long. */
export function readMarkdown(text: string): Markdown[] | undefined {
  return text.length > MARKDOWN_MOST ? undefined : readBlocks(text.replace(/\r\n?/g, '\n').split('\n'))
}
