/**
 * PostgreSQL's text of one-dimensional arrays: `{a,"b \"c\"",NULL}`. The driver's own is not used: it reads null as the
 * text 'NULL', and knows array types only after a query of its own at the start of every connection, whose failure (a
 * backend that ends just then) nothing can catch and which so ends the process.
 */

const NEEDS_ESCAPE = /["\\]/g

/** Text that is an array already, rendered elsewhere, goes as it is. An element that is undefined goes as null. */
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
  // Between the braces; each round takes one element and the comma, or the closing brace, behind it.
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
