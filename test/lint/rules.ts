/** The rules of `npm run lint` that biome lacks. Each rule returns its violations in the text of one file. */

export interface Finding {
  readonly path: string
  readonly line: number
  readonly text: string
}

export const MOST_COLUMNS = 120
/**
 * Two files may export the same name, for example one file of the server and one of the page. If three files
 * export a name, a search for the name is likely to find the wrong file.
 */
export const MOST_FILES = 2

const HEADLESS = 'What|Whatever|Who|Whoever|Whom|Where|Of|So many|So much|So long|As many|As much|That which|Those that'
const BEGINNING = new RegExp(String.raw`(?:^|[\s{(])(?:/\*\*?|//)\s*(?:${HEADLESS})\b`)
const OPENING = /^\s*\/\*\*?\s*$/
const FIRST_LINE = new RegExp(String.raw`^\s*\*?\s*(?:${HEADLESS})\b`)
const LINE_COMMENT = /^\s*\/\//
const EXPORT =
  /^export (?:default )?(?:declare )?(?:abstract )?(?:async )?(?:function\*?|const|let|class|interface|type|enum) (\w+)/
const EXPORT_LIST = /^export (?:type )?\{([^}]*)\}(?! from)/
/** Matches long strings without spaces, such as URLs, keys and regular expressions, which cannot be broken. */
const UNBREAKABLE = /\S{80,}|https?:\/\/\S{40,}/

/** Finds comments that begin with a clause instead of a subject and a verb: "What a trace costs", "Of a span". */
export function headlessComments(path: string, text: string): Finding[] {
  const lines = text.split('\n')
  return findings(path, lines, (line, index) => {
    const before = lines[index - 1] ?? ''
    if (OPENING.test(before)) return FIRST_LINE.test(line)
    return BEGINNING.test(line) && !(LINE_COMMENT.test(line) && LINE_COMMENT.test(before))
  })
}

/** Finds lines that are too long, except those that cannot be broken: tables and code in Markdown, and long words. */
export function longLines(path: string, text: string): Finding[] {
  const lines = text.split('\n')
  const kept = path.endsWith('.md') ? unbreakableMarkdown(lines) : new Set<number>()
  return findings(
    path,
    lines,
    (line, index) => [...line].length > MOST_COLUMNS && !UNBREAKABLE.test(line) && !kept.has(index)
  )
}

/** Finds the names that a file declares and exports. Names that it re-exports from another file do not count. */
export function exportedNames(path: string, text: string): Finding[] {
  return text.split('\n').flatMap((line, index) => {
    const listed = EXPORT_LIST.exec(line)?.[1]
      ?.split(',')
      .map(each => each.trim().split(/\s+/).at(-1) ?? '')
    const names = listed ?? [EXPORT.exec(line)?.[1] ?? '']
    return names.filter(name => name !== '').map(name => ({ path, line: index + 1, text: name }))
  })
}

function findings(path: string, lines: readonly string[], breaks: (line: string, index: number) => boolean): Finding[] {
  return lines.flatMap((line, index) => (breaks(line, index) ? [{ path, line: index + 1, text: line.trim() }] : []))
}

function unbreakableMarkdown(lines: readonly string[]): Set<number> {
  const found = new Set<number>()
  let isCode = false
  for (const [index, line] of lines.entries()) {
    const isFence = /^\s*(```|~~~)/.test(line)
    if (isFence) isCode = !isCode
    if (isCode || /^\s*\|/.test(line)) found.add(index)
  }
  return found
}
