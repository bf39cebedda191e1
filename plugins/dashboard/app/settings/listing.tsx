/** A table of settings. Until the rows load, a loading message or an error is shown. */
import type { ComponentChildren } from 'preact'
import { Problem, Waiting } from '../ui/problem.tsx'

interface ListingProps {
  readonly loaded: { readonly value: unknown; readonly error: unknown; again(): void }
  readonly what: string
  /** Column titles. The last column contains actions and has no visible title. */
  readonly columns: readonly string[]
  readonly none?: string | undefined
  /** Whether the last column of each row has actions. */
  readonly actions?: boolean
  readonly children: ComponentChildren
}

export function Listing({
  loaded: { value, error, again },
  what,
  columns,
  none,
  actions = true,
  children
}: ListingProps) {
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
          {actions && (
            <th scope="col">
              <span class="unseen">Actions</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  )
}

/** A button in a row. Screen readers announce `name`, which also identifies the row. */
export function RowAction({ label, name, act }: { label: string; name: string; act(): unknown }) {
  return (
    <button type="button" class="link" aria-label={name} onClick={() => void act()}>
      {label}
    </button>
  )
}
