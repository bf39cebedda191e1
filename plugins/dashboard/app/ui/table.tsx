/** Shared table parts: column titles, and rows that open when clicked anywhere. */
import type { ComponentChildren } from 'preact'
import { useKeys } from '../state/keys.ts'
import { Icon } from './controls.tsx'

/** A column title. Columns contain text by default. */
export type Title =
  | string
  | {
      readonly title: string
      readonly is?: 'number' | 'sorted' | 'sorted number'
      /** Sorts the table by the column. */
      readonly sort?: () => void
    }

export const numbers = (...titles: readonly string[]): Title[] => titles.map(title => ({ title, is: 'number' }))

export function Titles({ of }: { of: readonly Title[] }) {
  return (
    <tr>
      {of.map(each => {
        const { title, is, sort = undefined } = typeof each === 'string' ? { title: each, is: undefined } : each
        const isSorted = is?.startsWith('sorted')
        return (
          <th
            key={title}
            scope="col"
            class={is?.endsWith('number') ? 'number' : undefined}
            aria-sort={isSorted ? 'descending' : undefined}
          >
            {sort === undefined ? (
              title
            ) : (
              <button type="button" class="plain" title={`Sort by ${title.toLowerCase()}`} onClick={sort}>
                {title}
                {isSorted && <Icon name="down" />}
              </button>
            )}
          </th>
        )
      })}
    </tr>
  )
}

interface RowsProps {
  readonly label: string
  readonly titles: readonly Title[]
  /** Rows, each with a link of the class `open`. */
  readonly children: ComponentChildren
  readonly class?: string
}

/** A table of linked rows. On a narrow screen, each row is a card. `j` and `k` move from row to row. */
export function LinkedRows({ label, titles, children, class: more = '' }: RowsProps) {
  useKeys({ j: () => focusRow(1), k: () => focusRow(-1) })
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
    <section class="table" tabIndex={0} aria-label={label}>
      <table class={`traces cards ${more}`}>
        <thead>
          <Titles of={titles} />
        </thead>
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: each row has a link for the keyboard. */}
        <tbody onClick={openRow}>{children}</tbody>
      </table>
    </section>
  )
}

/** Focuses the next or previous row's link, also from one table of the page to the next. */
function focusRow(by: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>('.cards a.open')]
  const row = document.activeElement?.closest('.cards tr')
  const at = links.findIndex(link => link.closest('tr') === row)
  links[at === -1 ? 0 : Math.max(0, Math.min(links.length - 1, at + by))]?.focus()
}

/** Follows the link of a clicked row. A click on an excerpt follows the link of the row above. */
export function openRow(event: MouseEvent): void {
  const target = event.target as Element
  if (event.defaultPrevented || target.closest('a, button, input, label') || !getSelection()?.isCollapsed) return
  const row = target.closest('tr')
  const own = row?.className === 'excerpt' ? row.previousElementSibling : row
  const link = own?.querySelector<HTMLAnchorElement>('a.open')
  if (event.metaKey || event.ctrlKey) {
    if (link) open(link.href, '_blank', 'noopener')
  } else link?.click()
}
