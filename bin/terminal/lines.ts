/**
 * Lines of styled text for a terminal. Recorded texts may contain control characters, so a line is a list of pieces,
 * whose texts are escaped when the line is rendered. Styles are therefore the only control sequences in the output.
 */
import { visible } from '../../lib/log-text.ts'

const STYLES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const
export type Style = keyof typeof STYLES

export interface LinePiece {
  readonly text: string
  readonly style?: Style | undefined
}
export type Line = readonly (string | LinePiece)[]

export const pieceText = (piece: string | LinePiece): string => (typeof piece === 'string' ? piece : piece.text)

const ESCAPE = '\u001b['

export function renderLine(line: Line, hasColours: boolean): string {
  return line
    .map(piece => {
      const text = visible(pieceText(piece))
      const style = typeof piece === 'string' ? undefined : piece.style
      return hasColours && style !== undefined && text !== '' ? `${ESCAPE}${STYLES[style]}m${text}${ESCAPE}0m` : text
    })
    .join('')
    .trimEnd()
}

/** Characters that terminals show in two columns: East Asian wide and fullwidth characters, and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f000}-\u{1faff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u
const NARROW_ONLY = /^[\u0020-\u007e]*$/
/** Marks that combine with the preceding character, and invisible characters. */
const HIDDEN = /[\p{Mn}\p{Me}\p{Cf}]/u

const columnsOf = (character: string): number => (HIDDEN.test(character) ? 0 : WIDE.test(character) ? 2 : 1)

/** Returns the number of a terminal's columns that a text without control characters occupies. */
export function widthOf(text: string): number {
  if (NARROW_ONLY.test(text)) return text.length
  let width = 0
  for (const character of text) width += columnsOf(character)
  return width
}

/** Returns the text if it fits into `width` columns, otherwise its beginning with an ellipsis. */
export function cutTo(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  if (width < 1) return ''
  let cut = ''
  let left = width - 1
  for (const character of text) {
    left -= columnsOf(character)
    if (left < 0) break
    cut += character
  }
  return `${cut}…`
}
