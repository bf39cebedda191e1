import { useId } from 'preact/hooks'
import { Button, Icon } from './controls.tsx'

/** A secret that is shown once, with a copy button. */
export function Secret({ label, value, onCopy }: { label: string; value: string; onCopy(): void }) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div class="joined">
        <input id={id} class="mono" readOnly value={value} onFocus={event => event.currentTarget.select()} />
        <Button onClick={onCopy}>
          <Icon name="copy" /> Copy
        </Button>
      </div>
    </div>
  )
}
