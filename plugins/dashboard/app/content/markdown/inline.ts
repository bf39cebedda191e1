/**
 * Parses the content of a line of Markdown: emphasis, code, links, images. The text becomes a flat list of pieces, in
 * which matching marks record the emphasis that these marks open and close (emphasis.ts). A final pass builds the tree.
 * Each step takes linear time.
 */
import { readDataUri } from '../../ui/media.ts'
import { type Mark, matchMarks } from './emphasis.ts'
import { type Bracket, type Definitions, safeAddress, targetAt } from './link.ts'
import type { Markdown } from './nodes.ts'

/** Marks nested deeper than this are ignored, but their content is drawn. */
const DEEPEST = 20
const LONGEST_TAG = 1000

type Leaf = Exclude<Markdown, string | { readonly children: readonly Markdown[] }>
export type InlinePiece =
  | string
  | Leaf
  | Mark
  | { readonly opens: 'a'; readonly href: string }
  | { readonly closes: 'a' }

const SPECIAL = /[\\`*_~[\]<\n$]|!\[|https?:\/\//gi
const PUNCTUATION = /[!-/:-@[-`{-~]/
const TAG = new RegExp(`<(?:/?[a-zA-Z]|!--|\\?)[^<>]{0,${LONGEST_TAG}}>`, 'y')
const AUTOLINK = /<((?:https?|mailto):[^\s<>]{1,2000})>/iy
const BARE = /https?:\/\/[^\s<\]`]+/iy

export function readInline(text: string, definitions: Definitions): Markdown[] {
  return treeOf(piecesOf(text, definitions))
}

function piecesOf(text: string, definitions: Definitions): InlinePiece[] {
  const pieces: InlinePiece[] = []
  const brackets: Bracket[] = []
  const ticks = new Ticks(text)
  let lastMark: Mark | undefined
  /** Open brackets below this index must not become links, because links cannot be nested. */
  let linked = 0
  let at = 0

  const link = (href: string, children: string) => pieces.push({ opens: 'a', href }, children, { closes: 'a' })
  /** At a `]`, turns the pieces since the matching `[` into a link or an image. */
  const close = (): number => {
    const bracket = brackets.pop()
    if (bracket === undefined) return 0
    const isInLink = !bracket.isImage && brackets.length < linked
    linked = Math.min(linked, brackets.length)
    const label = text.slice(bracket.from, at)
    const target = isInLink ? undefined : targetAt(text, at + 1, label, definitions)
    if (target === undefined) return 0
    const media = bracket.isImage ? readDataUri(target.address) : undefined
    const href = safeAddress(target.address)
    if (media?.kind !== 'image' && href === undefined) return 0
    matchMarks(bracket.before, lastMark)
    lastMark = bracket.before
    if (lastMark !== undefined) lastMark.next = undefined
    if (media?.kind === 'image') {
      pieces.length = bracket.piece
      pieces.push({ tag: 'img', data: media.data, alt: label })
    } else if (bracket.isImage) {
      pieces.length = bracket.piece
      // An external image becomes a link.
      link(href as string, `image: ${label || href}`)
    } else {
      pieces[bracket.piece] = { opens: 'a', href: href as string }
      pieces.push({ closes: 'a' })
      linked = brackets.length
    }
    return target.end
  }

  while (at < text.length) {
    SPECIAL.lastIndex = at
    const next = SPECIAL.exec(text)?.index ?? text.length
    if (next > at) pieces.push(text.slice(at, next))
    at = next
    const c = text[at]
    if (c === undefined) break
    let end = 0
    const formula = c === '$' || c === '\\' ? formulaAt(text, at) : undefined
    if (formula !== undefined) {
      pieces.push(formula)
      end = at + formula.length
    } else if (c === '\\') {
      const escaped = text[at + 1] ?? ''
      if (escaped === '\n') pieces.push({ tag: 'br' })
      else if (PUNCTUATION.test(escaped)) pieces.push(escaped)
      else pieces.push(c)
      end = at + (escaped === '\n' || PUNCTUATION.test(escaped) ? 2 : 1)
    } else if (c === '\n') {
      const last = pieces.at(-1)
      if (typeof last === 'string') pieces[pieces.length - 1] = last.trimEnd()
      pieces.push({ tag: 'br' })
      end = at + 1
    } else if (c === '`') {
      const code = ticks.codeAt(at)
      pieces.push(code.text === undefined ? text.slice(at, code.end) : { tag: 'code', text: code.text })
      end = code.end
    } else if (c === '*' || c === '_' || c === '~') {
      const mark = markAt(text, at, pieces.length, lastMark)
      pieces.push(mark)
      lastMark = mark
      end = at + mark.length
    } else if (c === '[' || c === '!') {
      const isImage = c === '!'
      end = at + (isImage ? 2 : 1)
      brackets.push({ piece: pieces.length, from: end, isImage, before: lastMark })
      pieces.push(isImage ? '![' : '[')
    } else if (c === ']') end = close()
    else if (c === '<') {
      const [, address] = matchAt(AUTOLINK, text, at) ?? []
      const href = address && safeAddress(address)
      if (href) {
        link(href, address)
        end = at + address.length + 2
      } else {
        // The text of an HTML tag is not parsed as Markdown.
        const tag = matchAt(TAG, text, at)?.[0]
        if (tag !== undefined) pieces.push(tag)
        end = at + (tag?.length ?? 0)
      }
    } else if (!/\w/.test(text[at - 1] ?? '')) {
      const address = bareAddress(matchAt(BARE, text, at)?.[0] ?? '')
      if (address !== '') link(address, address)
      end = at + address.length
    }
    if (end <= at) {
      pieces.push(c)
      end = at + 1
    }
    at = end
  }
  matchMarks(undefined, lastMark)
  return pieces
}

/** Maximum length of a formula, which bounds the search for its end. */
const LONGEST_FORMULA = 1000
/** An escaped bracket begins a formula only if mathematics follows. */
const MATHEMATICS = /\\[a-zA-Z]|[\^_=]/

/** Returns the TeX formula that starts here, with its delimiters; undefined if there is none. */
function formulaAt(text: string, at: number): string | undefined {
  const start = text.slice(at, at + 2)
  const closing = { $$: '$$', '\\(': '\\)', '\\[': '\\]' }[start]
  if (closing !== undefined) {
    const inner = text.slice(at + 2, at + 2 + LONGEST_FORMULA)
    const end = inner.indexOf(closing)
    const isFormula = end > 0 && (start === '$$' || MATHEMATICS.test(inner.slice(0, end)))
    return isFormula ? text.slice(at, at + end + 4) : undefined
  }
  if (start[0] !== '$') return undefined
  // As in pandoc, so that amounts of money are not read as formulas: no space inside the dollars, and no digit after.
  const inner = text.slice(at + 1, at + 1 + LONGEST_FORMULA)
  const end = inner.search(/(?<!\\)\$/)
  const isFormula = end > 0 && !/^\s|\s$|[\n`]/.test(inner.slice(0, end)) && !/\d/.test(inner[end + 1] ?? '')
  return isFormula ? text.slice(at, at + end + 2) : undefined
}

function matchAt(expression: RegExp, text: string, at: number): RegExpExecArray | null {
  expression.lastIndex = at
  return expression.exec(text)
}

/** Removes trailing punctuation from a bare address, and a closing `)` whose `(` is before the address. */
function bareAddress(found: string): string {
  let end = found.length
  let depth = 0
  for (const c of found) depth += c === '(' ? 1 : c === ')' ? -1 : 0
  for (; end > 0; end--) {
    const c = found[end - 1] as string
    if (c === ')' && depth < 0) depth++
    else if (!/[?!.,:;*_~'"\]]/.test(c)) break
  }
  const address = found.slice(0, end)
  return /^https?:\/\/[^/?#]/i.test(address) ? (safeAddress(address) ?? '') : ''
}

/** Reads a run of emphasis marks. The adjacent characters determine whether the run can open or close emphasis. */
function markAt(text: string, at: number, piece: number, before: Mark | undefined): Mark {
  const c = text[at] as string
  let end = at + 1
  while (text[end] === c) end++
  const [left, right] = [text[at - 1] ?? ' ', text[end] ?? ' ']
  const [isSpaceLeft, isSpaceRight] = [/\s/.test(left), /\s/.test(right)]
  const [isSignLeft, isSignRight] = [/[\p{P}\p{S}]/u.test(left), /[\p{P}\p{S}]/u.test(right)]
  const goesRight = !isSpaceRight && (!isSignRight || isSpaceLeft || isSignLeft)
  const goesLeft = !isSpaceLeft && (!isSignLeft || isSpaceRight || isSignRight)
  const length = end - at
  const mark: Mark = {
    sign: c,
    at: piece,
    length,
    left: length,
    // Inside a word, `_` is an ordinary character.
    canOpen: goesRight && (c !== '_' || !goesLeft || isSignLeft) && (c !== '~' || length <= 2),
    canClose: goesLeft && (c !== '_' || !goesRight || isSignRight) && (c !== '~' || length <= 2),
    opens: [],
    closes: [],
    previous: before,
    next: undefined
  }
  if (before !== undefined) before.next = mark
  return mark
}

/** Finds code spans, which are delimited by two backtick runs of equal length. Each run is visited once. */
class Ticks {
  readonly #text: string
  /** Positions of the runs, grouped by length, in reverse order. */
  #runs: Map<number, number[]> | undefined

  constructor(text: string) {
    this.#text = text
  }

  /** Returns the text and end of the code span that starts here. `text` is undefined if no code span starts here. */
  codeAt(at: number): { readonly text: string | undefined; readonly end: number } {
    this.#runs ??= this.#find()
    let start = at
    while (this.#text[start] === '`') start++
    const runs = this.#runs.get(start - at) ?? []
    while (runs.length > 0 && (runs.at(-1) as number) < start) runs.pop()
    const end = runs.at(-1)
    if (end === undefined) return { text: undefined, end: start }
    const inner = this.#text.slice(start, end).replaceAll('\n', ' ')
    const isPadded = inner.startsWith(' ') && inner.endsWith(' ') && inner.trim() !== ''
    return { text: isPadded ? inner.slice(1, -1) : inner, end: end + start - at }
  }

  #find(): Map<number, number[]> {
    const runs = new Map<number, number[]>()
    for (const { 0: run, index } of this.#text.matchAll(/`+/g)) {
      const known = runs.get(run.length)
      if (known === undefined) runs.set(run.length, [index])
      else known.push(index)
    }
    for (const places of runs.values()) places.reverse()
    return runs
  }
}

/** Builds the tree from pieces that open and close in properly nested order. */
function treeOf(pieces: readonly InlinePiece[]): Markdown[] {
  const root: Markdown[] = []
  const open: Markdown[][] = [root]
  let links = 0
  const add = (node: Markdown) => {
    const children = open.at(-1) as Markdown[]
    const last = children.at(-1)
    if (node === '') return
    if (typeof node === 'string' && typeof last === 'string') children[children.length - 1] = last + node
    else children.push(node)
  }
  const enter = (make: (children: Markdown[]) => Markdown, isDrawn = true) => {
    const children: Markdown[] = []
    if (!isDrawn || open.length > DEEPEST) open.push(open.at(-1) as Markdown[])
    else {
      add(make(children))
      open.push(children)
    }
  }
  for (const piece of pieces) {
    if (typeof piece === 'string' || 'tag' in piece) add(piece)
    else if ('sign' in piece) {
      for (const _ of piece.closes) open.pop()
      add(piece.sign.repeat(piece.left))
      for (const tag of piece.opens) enter(children => ({ tag, children }))
    } else if ('opens' in piece) {
      const { href } = piece
      // An address within a link's text is part of the text.
      enter(children => ({ tag: 'a', href, children }), links++ === 0)
    } else {
      links--
      open.pop()
    }
  }
  return root
}
