/**
 * Estimates how large a table or an index is after PostgreSQL has rewritten it, from the sizes of a sample of its
 * rows. The rules and the constants are those of PostgreSQL's heap, TOAST and B-tree with pages of 8 kB; they are the
 * same in versions 15 to 18.
 */

export const PAGE = 8192
/** Bytes of a page for rows and their line pointers. */
const HEAP_SPACE = PAGE - 24
/** The same for a B-tree, whose pages end with links to their neighbours. */
const BTREE_SPACE = PAGE - 24 - 16
const LINE_POINTER = 4
const ROW_HEADER = 23
const HEAP_POINTER = 6
/** Maximum size of an index entry that stands for several rows. */
const MOST_POSTING = 812
/** Fill of pages above the leaves, in percent. */
const INNER_FILL = 70
/** Size from which values are moved out of a row, unless toast_tuple_target says otherwise. */
export const TOAST_TARGET = 2032
/** Pages of the free space map and the visibility map, and the number of pages from which a table has them. */
const MAP_PAGES = 4
const MAPPED_PAGES = 5
/** Size of a pointer in a row to a value that is stored in the TOAST table. Smaller values are never moved. */
const TOAST_POINTER = 18
const LEAST_MOVED = 24
const TOAST_CHUNK = 1996
const TOAST_ENTRY = 16
/** A value up to this size has a header of one byte, and is not aligned. */
const SHORT_VALUE = 127

export interface EstimatedColumn {
  /** Bytes of each value; -1 if they vary. */
  readonly length: number
  /** The values' alignment, as in pg_type: c, s, i or d. */
  readonly align: string
  /** The storage of the values, as in pg_type: p, e, m or x. */
  readonly storage: string
}

/** Alignments in bytes, by their letters in pg_type. */
export const ALIGNMENTS: Readonly<Record<string, number>> = { c: 1, s: 2, i: 4, d: 8 }
const aligned = (bytes: number, to: number): number => Math.ceil(bytes / to) * to

interface StoredRow {
  /** Bytes of the row on its page. */
  readonly bytes: number
  /** Sizes of values that are moved to the TOAST table. */
  readonly moved: readonly number[]
}

/** Returns how a row is stored if its columns' values have these sizes. Null stands for a null. */
export function storeRow(
  columns: readonly EstimatedColumn[],
  sizes: readonly (number | null)[],
  target: number
): StoredRow {
  const nulls = sizes.includes(null) ? Math.ceil(columns.length / 8) : 0
  const header = aligned(ROW_HEADER + nulls, 8)
  const stored = [...sizes]
  const moved: number[] = []
  for (;;) {
    const bytes = header + bytesOf(columns, stored)
    if (bytes <= Math.max(target, TOAST_TARGET)) return { bytes: aligned(bytes, 8) + LINE_POINTER, moved }
    const largest = largestMovable(columns, stored)
    if (largest === undefined) return { bytes: aligned(bytes, 8) + LINE_POINTER, moved }
    moved.push(stored[largest] as number)
    stored[largest] = TOAST_POINTER
  }
}

function bytesOf(columns: readonly EstimatedColumn[], sizes: readonly (number | null)[]): number {
  let bytes = 0
  columns.forEach(({ length, align }, i) => {
    const size = sizes[i]
    if (size === null || size === undefined) return
    const to = length === -1 && size <= SHORT_VALUE ? 1 : (ALIGNMENTS[align] ?? 8)
    bytes = aligned(bytes, to) + size
  })
  return bytes
}

function largestMovable(columns: readonly EstimatedColumn[], sizes: readonly (number | null)[]): number | undefined {
  for (const storages of ['xe', 'm']) {
    let largest: number | undefined
    columns.forEach(({ length, storage }, i) => {
      const size = sizes[i] ?? 0
      if (length !== -1 || !storages.includes(storage) || size <= LEAST_MOVED) return
      if (size > (largest === undefined ? 0 : (sizes[largest] as number))) largest = i
    })
    if (largest !== undefined) return largest
  }
  return undefined
}

/** Counts the pages that rows of these sizes take one after another. */
class Pages {
  readonly #space: number
  #pages = 0
  #left = 0

  constructor(fill: number) {
    // PostgreSQL ignores the fill factor for a row that would otherwise not fit on any page.
    this.#space = HEAP_SPACE - Math.floor((PAGE * (100 - fill)) / 100)
  }

  add(bytes: number): void {
    if (bytes > this.#left) {
      this.#pages++
      this.#left = this.#space
    }
    this.#left -= bytes
  }

  /** The number of full pages, with the part of the last page that is used. */
  get pages(): number {
    return this.#pages - Math.max(0, this.#left) / this.#space
  }
}

export interface TableSample {
  readonly columns: readonly EstimatedColumn[]
  /** The sizes of the values of each row. */
  readonly rows: Iterable<readonly (number | null)[]>
  /** The share of the table's pages from which the rows come. */
  readonly share: number
  readonly hasToast: boolean
  readonly fillfactor: number
  readonly toastTarget: number
}

/** Returns the bytes of the table without its indexes, including values that are moved out of rows. */
export function estimateTable({ columns, rows, share, hasToast, fillfactor, toastTarget }: TableSample): number {
  const heap = new Pages(fillfactor)
  const toast = new Pages(100)
  let chunks = 0
  for (const sizes of rows) {
    const { bytes, moved } = storeRow(columns, sizes, toastTarget)
    heap.add(bytes)
    for (const size of moved) {
      for (let left = size; left > 0; left -= TOAST_CHUNK) {
        toast.add(aligned(24 + 8 + 4 + Math.min(left, TOAST_CHUNK), 8) + LINE_POINTER)
        chunks++
      }
    }
  }
  const whole = (pages: number) => {
    const all = Math.ceil(pages / share)
    return (all + (all >= MAPPED_PAGES ? MAP_PAGES : 0)) * PAGE
  }
  const toastIndex = hasToast ? estimateEntries({ entries: chunks / share, bytes: TOAST_ENTRY, fillfactor: 90 }) : 0
  return whole(heap.pages) + whole(toast.pages) + toastIndex
}

/** Groups of index entries with equal keys. */
export interface EntryGroups {
  /** Number of rows with the same key. */
  readonly rows: number
  readonly groups: number
  /** Mean size of the keys in these groups, including the header, in bytes. */
  readonly bytes: number
}

interface IndexSample {
  readonly groups: readonly EntryGroups[]
  readonly share: number
  readonly fillfactor: number
  /** Whether PostgreSQL stores a key only once if several rows share it. */
  readonly deduplicates: boolean
}

/** Returns the bytes of a B-tree. */
export function estimateIndex({ groups, share, fillfactor, deduplicates }: IndexSample): number {
  let entries = 0
  let total = 0
  for (const { rows, groups: count, bytes } of groups) {
    const single = aligned(bytes, 8)
    if (rows === 1 || !deduplicates) {
      entries += count * rows
      total += count * rows * single
      continue
    }
    const most = Math.floor((MOST_POSTING - single) / HEAP_POINTER)
    const postings = Math.ceil(rows / most)
    entries += count * postings
    total += count * postings * aligned(single + (HEAP_POINTER * rows) / postings, 8)
  }
  if (entries === 0) return PAGE
  return estimateEntries({ entries: entries / share, bytes: total / entries, fillfactor })
}

interface Entries {
  readonly entries: number
  readonly bytes: number
  readonly fillfactor: number
}

function estimateEntries({ entries, bytes, fillfactor }: Entries): number {
  if (entries < 1) return PAGE
  const perPage = (fill: number) =>
    Math.max(2, (BTREE_SPACE - LINE_POINTER - Math.floor((PAGE * (100 - fill)) / 100)) / (bytes + LINE_POINTER))
  // The first page describes the index.
  let pages = 1
  for (let level = Math.ceil(entries / perPage(fillfactor)); ; level = Math.ceil(level / perPage(INNER_FILL))) {
    pages += level
    if (level <= 1) return pages * PAGE
  }
}
