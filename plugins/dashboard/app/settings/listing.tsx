/** A table of settings: its rows once they are there, until then the waiting or what is wrong. */
import type { ComponentChildren } from 'preact'
import { Problem, Waiting } from '../ui/problem.tsx'

interface ListingProps {
  readonly loaded: { readonly value: unknown; readonly error: unknown; again(): void }
  readonly what: string
  /** The titles of the columns; the last column, of what can be done, has none to see. */
  readonly columns: readonly string[]
  /** Said in place of a table without rows. */
  readonly none?: string | undefined
  readonly children: ComponentChildren
}

export function Listing({ loaded: { value, error, again }, what, columns, none, children }: ListingProps) {
  if (error !== undefined) return <Problem error={error} again={again} />
  if (value === undefined) return <Waiting what={what} />
  if (none !== undefined) return <p class="soft">{none}</p>
  return (
    <table class="plain-table">
      <thead>
        <tr>
          {columns.map(title => (
            <th key={title} scope="col">
              {title}
            </th>
          ))}
          <th scope="col">
            <span class="unseen">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  )
}
