import { useState } from 'preact/hooks'
import { Button, Icon, MainButton } from '../ui/controls.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { COLUMNS, chooseColumns, DEFAULT_COLUMNS, moveColumn, scoreColumn } from './columns.ts'

interface Props {
  readonly chosen: readonly string[]
  readonly scores: readonly string[]
  onClose(): void
  choose(names: readonly string[]): void
}

export function ColumnsDialog({ chosen, scores, onClose, choose }: Props) {
  const [said, setSaid] = useState('')
  const all = [...COLUMNS.map(({ name }) => name), ...scores.map(scoreColumn)]
  const rest = all.filter(name => !chosen.includes(name))
  const titleOf = (name: string) => chooseColumns(['name', name]).at(-1)!.title
  const move = (name: string, by: 1 | -1) => {
    const moved = moveColumn(chosen, name, by)
    choose(moved)
    setSaid(`${titleOf(name)} is column ${moved.indexOf(name) + 1} of ${moved.length}`)
  }
  return (
    <Dialog title="Columns" onClose={onClose}>
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
              <input type="checkbox" checked={false} onChange={() => choose([...chosen, name])} />
              {titleOf(name)}
            </label>
          </li>
        ))}
      </ul>
      <p class="unseen" role="status">
        {said}
      </p>
      <div class="buttons">
        <Button onClick={() => choose(DEFAULT_COLUMNS)}>As at first</Button>
        <MainButton onClick={onClose}>Done</MainButton>
      </div>
    </Dialog>
  )
}
