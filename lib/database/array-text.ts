/**
 * Reads and writes PostgreSQL's text of one-dimensional arrays: `{a,"b \"c\"",NULL}`. The driver's own code is not
 * used for two reasons. It reads null as the text 'NULL'. And it learns the types of arrays by a query of its own at
 * the start of every connection; if a backend ends just then, nothing can catch the failure of that query, and the
 * process ends.
 */

const NEEDS_ESCAPE = /["\\]/g

/** The text of an array. A value that is no array must be such a text already. An undefined element becomes null. */
export function writeArray(values: unknown, write: (value: unknown) => string): string {
  if (!Array.isArray(values)) return String(values)
  const element = (value: unknown) => (value === null || value === undefined ? 'NULL' : quote(write(value)))
  return `{${values.map(element).join()}}`
}

function quote(text: string): string {
  return `"${text.replace(NEEDS_ESCAPE, '\\$&')}"`
}

export function readArray(text: string, read: (text: string) => unknown): unknown[] {
  const values: unknown[] = []
  // `at` is between the braces. Each round takes one element, and the comma or closing brace after it.
  for (let at = 1; at < text.length - 1; ) {
    const quoted = text[at] === '"'
    const end = quoted ? findClosingQuote(text, at + 1) : findEnd(text, at)
    const element = text.slice(quoted ? at + 1 : at, end)
    if (quoted) values.push(read(element.replace(/\\(.)/gs, '$1')))
    else values.push(element === 'NULL' ? null : read(element))
    at = end + (quoted ? 2 : 1)
  }
  return values
}

function findClosingQuote(text: string, start: number): number {
  let at = start
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at
}

function findEnd(text: string, start: number): number {
  const comma = text.indexOf(',', start)
  return comma === -1 ? text.length - 1 : comma
}
