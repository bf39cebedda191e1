/** Formats log lines for people (LOG_FORMAT=text), and escapes strings for terminals. */

const HIDDEN = new Set(['level', 'time', 'msg', 'err', 'stack'])
const IN_REQUEST = new Set(['method', 'path', 'status', 'ms'])

/**
 * Formats a JSON line as `12:34:56.789 info the message name=value`. An error's stack trace follows on separate lines.
 */
export function logText(line: string): string {
  const fields = JSON.parse(line) as Record<string, unknown>
  const { level, time, msg } = fields
  const isRequest = msg === 'request' && typeof fields.path === 'string'
  const message = isRequest ? `${fields.method} ${fields.path} ${fields.status} ${fields.ms} ms` : String(msg ?? '')
  const rest = Object.entries(fields)
    .filter(([name]) => !HIDDEN.has(name) && !(isRequest && IN_REQUEST.has(name)))
    .map(([name, value]) => `${name}=${shown(value)}`)
  const head = `${String(time).slice(11, 23)} ${String(level).padEnd(5)} ${visible(message)}`
  const stack = (fields.err as { stack?: unknown } | undefined)?.stack ?? fields.stack
  const more =
    typeof stack === 'string'
      ? stack
          .split('\n')
          .map(each => `\n    ${visible(each)}`)
          .join('')
      : ''
  return `${[head, ...rest].join('  ')}${more}\n`
}

/** Returns a string without spaces or quotes unchanged, and any other value as JSON. */
function shown(value: unknown): string {
  return typeof value === 'string' && /^[^\s"]+$/.test(value) ? visible(value) : visible(JSON.stringify(value))
}

/**
 * Characters that move a terminal's cursor, change the style of text, start another line, or change the writing
 * direction: C0, C1 and bidirectional controls.
 */
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Escapes a string for safe display on one line of a terminal. Escaped JSON keeps its meaning. */
export const visible = (text: string): string => text.replace(UNSAFE, escaped)

/** Like `visible`, but keeps line breaks and tabs. */
export const visibleLines = (text: string): string =>
  text.replace(UNSAFE, character => (character === '\n' || character === '\t' ? character : escaped(character)))
