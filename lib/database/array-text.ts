/**
 * Reads and writes PostgreSQL's text format for one-dimensional arrays: `{a,"b \"c\"",NULL}`. Replaces the driver's own
 * array support, which reads null as the string 'NULL' and queries array types at the start of every connection. If the
 * backend dies during that query, the error cannot be caught and ends the process.
 */

const NEEDS_ESCAPE = /["\\]/g

/** Formats an array. A value that is not an array must already be formatted. Undefined elements become null. */
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
  // `at` starts inside the opening brace. Each iteration consumes an element and the following comma or closing brace.
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
