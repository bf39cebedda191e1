/**
 * Shows pages of lists as outlines: the fields that distinguish the items, in few enough bytes for an agent's context.
 * Null fields and long texts are left out, and `note` says so.
 */
import Type, { type Static } from 'typebox'
import { closed } from '../schema/object.ts'
import { inspectText, parseInexact, stringifyExact } from '../trace/json/exact-json.ts'
import { cutOutlineText, SHOWN_BYTES, USUAL_BYTES } from './outline.ts'
import type { Arguments, ToolView } from './tool.ts'

export const detailOption = (full: string) =>
  Type.Object({
    detail: Type.Optional(
      Type.Enum(['outline', 'full'], {
        default: 'outline',
        description: `\`outline\`: short, without null fields. \`full\`: ${full}.`
      })
    )
  })
type Options = Static<ReturnType<typeof detailOption>>

/** Fields of an outline that the route's response lacks. */
export const OUTLINE_FIELDS = closed({
  detail: Type.Literal('outline'),
  note: Type.String({ description: 'Says what is left out and how to get it.' })
})

/** An item or a page as parsed. Free-form JSON in it may contain LosslessNumbers. */
// biome-ignore lint/suspicious/noExplicitAny: the items of each list differ, and their shapes are the routes' schemas.
export type Item = Readonly<Record<string, any>>

/** Shortens a name, a message or a value. */
export interface Cuts {
  name(text: string): string
  text(text: string): string
  value(value: unknown): unknown
}

export interface ListOutline {
  readonly name: string
  /** The member of a page that holds its items. */
  readonly member: string
  usualLimit(args: Arguments): number
  /** Returns the outline of an item. Fields that are null or undefined are left out. */
  outline(item: Item, cuts: Cuts): Item
  /** Returns the outlines of other members of a page. */
  others?(page: Item, cuts: Cuts): Item
  /** Sentences on what outlines leave out, and on how to read an item. */
  readonly about: string
  /** Advice if nothing was found and the response does not explain it. */
  readonly ifEmpty?: string
}

/** Maximum numbers of bytes of a name, a text and a value, in order of preference. */
const ROOMS = [
  { name: 120, text: 400, value: 400 },
  { name: 120, text: 200, value: 160 },
  { name: 80, text: 100, value: 80 },
  { name: 60, text: 40, value: 40 }
] as const

export function listView(list: ListOutline): ToolView {
  const usual = list.usualLimit({})
  return {
    name: list.name,
    options: detailOption('whole items, which are long'),
    outputs: [OUTLINE_FIELDS],
    usualLimit: list.usualLimit,
    check() {},
    isWhole: ({ detail }: Options) => detail === 'full',
    show(answer) {
      const { inexact } = inspectText(answer)
      const page = (inexact ? parseInexact(answer) : JSON.parse(answer)) as Item
      return outlineList(list, page, { inexact, most: page.pageSize > usual ? SHOWN_BYTES : USUAL_BYTES })
    }
  }
}

/** Returns the outline of a page as JSON text. Leaves out the last items if they do not fit even with short texts. */
export function outlineList(
  list: ListOutline,
  page: Item,
  { inexact, most }: { readonly inexact: boolean; readonly most: number }
): string {
  const items = page[list.member] as readonly Item[]
  const textOf = (shown: readonly Item[]): string =>
    stringifyExact(
      {
        detail: 'outline',
        ...noteOf(list, page, shown.length),
        ...withoutNulls({ ...page, ...others, [list.member]: shown })
      },
      inexact
    )
  let shown: readonly Item[] = []
  let others: Item = {}
  let text = ''
  for (const room of ROOMS) {
    const cuts: Cuts = {
      name: each => cutOutlineText(each, room.name),
      text: each => cutOutlineText(each, room.text),
      value: each => cutJson(each, room.value, inexact)
    }
    shown = items.map(item => withoutNulls(list.outline(item, cuts)))
    others = list.others?.(page, cuts) ?? {}
    text = textOf(shown)
    if (Buffer.byteLength(text) <= most) return text
  }
  while (Buffer.byteLength(text) > most && shown.length > 1) {
    const ofItems = shown.reduce((sum, item) => sum + Buffer.byteLength(stringifyExact(item, inexact)) + 1, 0)
    const excess = (Buffer.byteLength(text) - most) / ofItems
    shown = shown.slice(0, Math.max(1, Math.min(shown.length - 1, Math.floor(shown.length * (1 - excess)))))
    text = textOf(shown)
  }
  return text
}

/** Members whose null has a meaning: the list is complete. */
const TELLING = ['nextCursor']

const withoutNulls = (item: Item): Item =>
  Object.fromEntries(
    Object.entries(item).filter(([name, value]) => value !== undefined && (value !== null || TELLING.includes(name)))
  )

function cutJson(value: unknown, most: number, inexact: boolean): unknown {
  if (value === undefined || value === null) return undefined
  const json = stringifyExact(value, inexact)
  if (json === '{}' || json === '[]') return undefined
  const cut = cutOutlineText(json, most)
  return cut === json ? value : cut
}

function noteOf(list: ListOutline, page: Item, shown: number): { note?: string } {
  // The list of changes always has a cursor, for a later call.
  const { reached, nextCursor, hint, caughtUp } = page
  const all = (page[list.member] as readonly Item[]).length
  const said = [
    ...(shown < all
      ? [
          `Only ${shown} of the page's ${all} ${list.member} fit. For the rest, use \`limit\` ${shown}, then call ` +
            'again with `after` set to nextCursor.'
        ]
      : []),
    ...(reached != null
      ? [
          `Only traces that started at ${reached} or later were examined, so more may match: call again with ` +
            '`after` set to nextCursor, or narrow the period with `from` and `to`.'
        ]
      : all === 0 && nextCursor != null && caughtUp !== true
        ? ['More may follow: call again with `after` set to nextCursor.']
        : []),
    ...(all === 0 && hint == null && caughtUp !== false && list.ifEmpty !== undefined ? [list.ifEmpty] : []),
    ...(all > 0 ? [list.about] : [])
  ]
  return said.length === 0 ? {} : { note: said.join(' ') }
}
