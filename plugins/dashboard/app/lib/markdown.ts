/**
 * Markdown as a tree of the few things that the page draws. HTML in it is text, links go to `https:`, `http:` and
 * `mailto:` only, images are data URIs only: so there is nothing to sanitise.
 */
import { Lexer, type Token, type Tokens } from 'marked'
import { readDataUri } from './media.ts'

export type Markdown =
  | string
  | {
      readonly tag: 'p' | 'strong' | 'em' | 'del' | 'blockquote' | 'ul' | 'li' | 'tr' | 'th' | 'td' | 'table'
      readonly children: readonly Markdown[]
    }
  | { readonly tag: 'h'; readonly level: number; readonly children: readonly Markdown[] }
  | { readonly tag: 'ol'; readonly start: number; readonly children: readonly Markdown[] }
  | { readonly tag: 'task'; readonly done: boolean }
  | { readonly tag: 'code'; readonly text: string }
  | { readonly tag: 'pre'; readonly text: string; readonly language: string }
  | { readonly tag: 'a'; readonly href: string; readonly children: readonly Markdown[] }
  | { readonly tag: 'img'; readonly data: string; readonly alt: string }
  | { readonly tag: 'br' | 'hr' }

/** Longer texts are shown as text. */
export const MARKDOWN_MOST = 150_000
const DEEPEST = 40

/** Undefined where the text is too long, or nested so deeply that the lexer cannot read it. */
export function readMarkdown(text: string): Markdown[] | undefined {
  if (text.length > MARKDOWN_MOST || nestsDeeply(text) || hasManyMarks(text)) return undefined
  try {
    return blocks(new Lexer({ gfm: true, breaks: true }).lex(text), 0)
  } catch {
    // The stack of the lexer is not endless.
    return undefined
  }
}

/** Whether a line begins with more marks of quotes and lists, or more brackets, than anybody writes. */
function nestsDeeply(text: string): boolean {
  return /^[ \t]*(?:(?:>|[-*+]|\d{1,9}[.)])[ \t]*){40}/m.test(text) || /[[(*_~`]{400}/.test(text)
}

/**
 * How many marks of emphasis a paragraph may have: the lexer's time grows with their square. Beyond them a text is
 * hardly prose.
 */
const MOST_MARKS = 1000

function hasManyMarks(text: string): boolean {
  let marks = 0
  for (let i = 0; i < text.length; i++) {
    const c = text[i]
    if (c === '*' || c === '_' || c === '~') {
      if (++marks > MOST_MARKS) return true
    } else if (c === '\n' && text[i + 1] === '\n') marks = 0
  }
  return false
}

function blocks(tokens: readonly Token[] | undefined, depth: number): Markdown[] {
  if (depth > DEEPEST) throw new RangeError('too deep')
  return (tokens ?? []).flatMap(token => block(token, depth + 1))
}

function block(token: Token, depth: number): Markdown | Markdown[] {
  switch (token.type) {
    case 'space':
    case 'def':
      return []
    case 'paragraph':
      return { tag: 'p', children: inlines(token.tokens, depth) }
    case 'text':
      return token.tokens === undefined ? token.raw : inlines(token.tokens, depth)
    case 'heading':
      return { tag: 'h', level: (token as Tokens.Heading).depth, children: inlines(token.tokens, depth) }
    case 'code':
      return { tag: 'pre', text: token.text, language: (token.lang ?? '').split(/\s/)[0] ?? '' }
    case 'blockquote':
      return { tag: 'blockquote', children: blocks(token.tokens, depth) }
    case 'hr':
      return { tag: 'hr' }
    case 'list':
      return list(token as Tokens.List, depth)
    case 'table':
      return table(token as Tokens.Table, depth)
    case 'html':
      return { tag: 'p', children: [token.raw.trimEnd()] }
    default:
      return inline(token, depth)
  }
}

function list({ ordered, start, items }: Tokens.List, depth: number): Markdown {
  const children = items.map((item): Markdown => {
    const content = blocks(item.tokens, depth)
    return { tag: 'li', children: item.task ? [{ tag: 'task', done: item.checked === true }, ...content] : content }
  })
  return ordered ? { tag: 'ol', start: Number(start) || 1, children } : { tag: 'ul', children }
}

function table({ header, rows }: Tokens.Table, depth: number): Markdown {
  const row = (tag: 'th' | 'td', cells: readonly Tokens.TableCell[]): Markdown => ({
    tag: 'tr',
    children: cells.map(cell => ({ tag, children: inlines(cell.tokens, depth) }))
  })
  return { tag: 'table', children: [row('th', header), ...rows.map(cells => row('td', cells))] }
}

function inlines(tokens: readonly Token[] | undefined, depth: number): Markdown[] {
  if (depth > DEEPEST) throw new RangeError('too deep')
  return (tokens ?? []).flatMap(token => inline(token, depth + 1))
}

function inline(token: Token, depth: number): Markdown | Markdown[] {
  switch (token.type) {
    case 'strong':
    case 'em':
    case 'del':
      return { tag: token.type, children: inlines(token.tokens, depth) }
    case 'codespan':
      return { tag: 'code', text: token.text }
    case 'br':
      return { tag: 'br' }
    case 'link':
      return link(token as Tokens.Link, depth)
    case 'image':
      return image(token as Tokens.Image)
    case 'escape':
      return token.text
    // The box of a task is part of its item here.
    case 'checkbox':
      return []
    case 'text':
      return token.tokens === undefined ? token.raw : inlines(token.tokens, depth)
    default:
      return token.raw
  }
}

const SAFE_LINK = /^(?:https?|mailto):/i

/** An address that may be a link, or undefined: no scripts, no data, no files. */
export function safeAddress(address: string): string | undefined {
  const trimmed = address.trim()
  return SAFE_LINK.test(trimmed) && !/[\u0000-\u0020]/.test(trimmed) ? trimmed : undefined
}

function link(token: Tokens.Link, depth: number): Markdown | Markdown[] {
  const href = safeAddress(token.href)
  if (href === undefined) return token.raw
  return { tag: 'a', href, children: inlines(token.tokens, depth) }
}

/** An image of elsewhere is a link to it. */
function image(token: Tokens.Image): Markdown | Markdown[] {
  const media = readDataUri(token.href)
  if (media?.kind === 'image') return { tag: 'img', data: media.data, alt: token.text }
  const href = safeAddress(token.href)
  return href === undefined ? token.raw : { tag: 'a', href, children: [`image: ${token.text || href}`] }
}
