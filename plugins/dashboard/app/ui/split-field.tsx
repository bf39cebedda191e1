/** Selects the field by which traces are grouped: one of the fields, or a tag with the key that is typed. */
import { useTagKeys } from '../state/tag-keys.ts'
import { ANY_TAG, tagKeyOf } from '../state/trace-group.ts'
import { TypedFilter } from './filter-bar.tsx'

interface Props {
  readonly slug: string
  readonly label: string
  /** Empty if traces are not grouped. */
  readonly by: string
  readonly fields: readonly string[]
  /** Name of the choice not to group, if there is one. */
  readonly none?: string
  set(by: string): void
}

export function SplitField({ slug, label, by, fields, none, set }: Props) {
  const key = tagKeyOf(by)
  const keys = useTagKeys(slug, key !== undefined)
  return (
    <>
      <label class={`filter ${none === undefined || by === '' ? '' : 'is-set'}`}>
        <span>{label}</span>
        <select value={key === undefined ? by : ANY_TAG} onChange={event => set(event.currentTarget.value)}>
          {none !== undefined && <option value="">{none}</option>}
          {fields.map(each => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
          <option value={ANY_TAG}>tag</option>
        </select>
      </label>
      {key !== undefined && (
        <TypedFilter
          label="Tag key"
          value={key}
          known={keys && [...keys.keys()]}
          counted={keys}
          set={next => set(`${ANY_TAG}${next.replaceAll(':', '')}`)}
        />
      )}
    </>
  )
}
