/**
 * Receives a JSON response that contains one long list, part by part, because the response is too long to be in memory
 * at once. Each method waits until the receiver can take the next part.
 */
export interface ListWriter {
  /** Takes the text before the first item. */
  head(text: string): Promise<void>
  /**
   * Takes one item, without a comma. If the item lacks free-form JSON, `bytes` is the number of bytes that the item
   * would have with it.
   */
  item(text: string, bytes: number): Promise<void>
  /** Takes the text after the last item. */
  foot(text: string): Promise<void>
}

/** Returns a writer that passes all parts on as consecutive text, with commas between the items. */
export function textWriter(write: (text: string) => Promise<void>): ListWriter {
  let isFirst = true
  return {
    head: write,
    item(text) {
      const separated = isFirst ? text : `,${text}`
      isFirst = false
      return write(separated)
    },
    foot: write
  }
}
