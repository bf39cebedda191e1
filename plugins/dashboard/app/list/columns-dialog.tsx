import { useState } from 'preact/hooks'
import { at } from '../state/api.ts'
import { useRead } from '../state/load.ts'
import { preferences } from '../state/preferences.ts'
import { useStore } from '../state/store.ts'
import { Button, Icon, MainButton } from '../ui/controls.tsx'
import { Dialog } from '../ui/dialog.tsx'
import {
  COLUMNS,
  COMPACT,
  chooseColumns,
  DEFAULT_COLUMNS,
  MOST_METADATA,
  metadataColumn,
  metadataOfColumn,
  moveColumn,
  scoreColumn
} from './columns.ts'

interface Props {
  readonly slug: string
  readonly chosen: readonly string[]
  readonly scores: readonly string[]
  /** Whether rows hide their first words and errors. */
  readonly isCompact: boolean
  onClose(): void
  choose(names: readonly string[]): void
}

export function ColumnsDialog({ slug, chosen, scores, isCompact, onClose, choose: set }: Props) {
  const [said, setSaid] = useState('')
  const choose = (names: readonly string[], compact = isCompact) => set(compact ? [...names, COMPACT] : names)
  const metadata = useMetadataNames(slug)
  const all = [...COLUMNS.map(({ name }) => name), ...scores.map(scoreColumn), ...metadata.map(metadataColumn)]
  const rest = all.filter(name => !chosen.includes(name))
  const titleOf = (name: string) => chooseColumns(['name', name]).at(-1)!.title
  const isFull = chosen.filter(name => metadataOfColumn(name) !== undefined).length >= MOST_METADATA
  const move = (name: string, by: 1 | -1) => {
    const moved = moveColumn(chosen, name, by)
    choose(moved)
    setSaid(`${titleOf(name)} is column ${moved.indexOf(name) + 1} of ${moved.length}`)
  }
  return (
    <Dialog title="Columns" onClose={onClose}>
      <label class="columns-texts">
        <input type="checkbox" checked={!isCompact} onChange={() => choose(chosen, !isCompact)} />
        First error, and first words of input and output
      </label>
      <ul class="columns">
        {chosen.map((name, i) => (
          <li key={name}>
            <label>
              <input
                type="checkbox"
                checked
                disabled={name === 'name'}
                onChange={() => choose(chosen.filter(each => each !== name))}
              />
              {titleOf(name)}
            </label>
            {([-1, 1] as const).map(by => (
              <button
                key={by}
                type="button"
                class="plain"
                aria-label={`Move ${titleOf(name)} ${by === 1 ? 'down' : 'up'}`}
                disabled={chosen[i + by] === undefined}
                onClick={() => move(name, by)}
              >
                <Icon name="down" class={by === 1 ? '' : 'is-up'} />
              </button>
            ))}
          </li>
        ))}
        {rest.map(name => (
          <li key={name}>
            <label>
              <input
                type="checkbox"
                checked={false}
                disabled={isFull && metadataOfColumn(name) !== undefined}
                onChange={() => choose([...chosen, name])}
              />
              {titleOf(name)}
              {metadataOfColumn(name) !== undefined && <span class="soft small">metadata</span>}
            </label>
          </li>
        ))}
      </ul>
      <p class="unseen" role="status">
        {said}
      </p>
      <div class="buttons">
        <Button onClick={() => choose(DEFAULT_COLUMNS, false)}>Reset</Button>
        <MainButton onClick={onClose}>Done</MainButton>
      </div>
    </Dialog>
  )
}

/** Returns the names of metadata that a trace's head shows, and those that the newest traces have. */
function useMetadataNames(slug: string): string[] {
  const { metadata } = useStore(preferences)
  const { value } = useRead(at('p/:slug/suggestions', { slug }, new URLSearchParams({ field: 'metadata' })))
  return [...new Set([...(metadata[slug] ?? []), ...(value?.values ?? []).map(each => each.value)])]
}
