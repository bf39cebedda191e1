/** Adds a score to a trace or span. Names of existing scores in the project are offered first, each with its type. */

import { useId, useState } from 'preact/hooks'
import type { DataType, Score } from '../contract.ts'
import { at, write } from '../state/api.ts'
import { useRead } from '../state/load.ts'
import { tell } from '../state/toasts.ts'
import { FormDialog } from '../ui/dialog.tsx'
import { asLine } from '../ui/text.ts'

interface Props {
  readonly slug: string
  readonly traceId: string
  readonly span: { readonly id: string; readonly name: string } | undefined
  readonly scores: readonly Score[]
  onClose(): void
  changed(): void
}

const TYPES: readonly { type: DataType; label: string }[] = [
  { type: 'numeric', label: 'Number' },
  { type: 'categorical', label: 'Category' },
  { type: 'boolean', label: 'Yes or no' }
]
const NAME = /^[A-Za-z0-9_-]{1,64}$/

export function Annotate({ slug, traceId, span, scores, onClose, changed }: Props) {
  const known = useRead(at('p/:slug/score-names', { slug })).value ?? []
  const [name, setName] = useState('')
  const [type, setType] = useState<DataType>('numeric')
  const [value, setValue] = useState('')
  const [comment, setComment] = useState('')
  const [onSpan, setOnSpan] = useState(span !== undefined)
  const id = useId()
  const categories = [
    ...new Set(
      scores.filter(score => score.name === name && typeof score.value === 'string').map(score => String(score.value))
    )
  ]
  const take = (next: string) => {
    setName(next)
    const found = known.find(each => each.name === next)
    if (found !== undefined && found.dataType !== type) {
      setType(found.dataType)
      setValue('')
    }
  }
  const submit = async () => {
    if (!NAME.test(name)) throw new Error('The name may have letters, digits, _ and -, at most 64.')
    const score = {
      name,
      dataType: type,
      value: readValue(type, value),
      ...(comment.trim() !== '' && { comment }),
      ...(onSpan && span !== undefined && { spanId: span.id })
    }
    await write('POST', at('p/:slug/traces/:traceId/scores', { slug, traceId }), { body: score })
    tell(`Score ${name} added`)
    changed()
    onClose()
  }
  return (
    <FormDialog title="Annotate" submit="Add the score" onClose={onClose} onSubmit={submit}>
      <label class="field">
        <span>Name</span>
        <input
          required
          list={`${id}-names`}
          value={name}
          spellcheck={false}
          autocomplete="off"
          onInput={event => take(event.currentTarget.value)}
        />
        <datalist id={`${id}-names`}>
          {known.map(each => (
            <option key={`${each.name} ${each.dataType}`} value={each.name} />
          ))}
        </datalist>
      </label>
      {known.length > 0 && (
        <p class="names">
          {known.slice(0, 6).map(each => (
            <button
              key={`${each.name} ${each.dataType}`}
              type="button"
              aria-pressed={name === each.name}
              onClick={() => take(each.name)}
            >
              {each.name}
            </button>
          ))}
        </p>
      )}
      <fieldset class="choices">
        <legend>Kind</legend>
        {TYPES.map(each => (
          <label key={each.type}>
            <input
              type="radio"
              name={`${id}-type`}
              checked={type === each.type}
              onChange={() => {
                setType(each.type)
                setValue('')
              }}
            />
            {each.label}
          </label>
        ))}
      </fieldset>
      {type === 'boolean' ? (
        <fieldset class="choices">
          <legend>Value</legend>
          {['yes', 'no'].map(each => (
            <label key={each}>
              <input
                type="radio"
                name={`${id}-value`}
                required
                checked={value === each}
                onChange={() => setValue(each)}
              />
              {each}
            </label>
          ))}
        </fieldset>
      ) : (
        <label class="field">
          <span>Value</span>
          <input
            required
            inputMode={type === 'numeric' ? 'decimal' : undefined}
            maxLength={type === 'categorical' ? 200 : 40}
            list={type === 'categorical' ? `${id}-values` : undefined}
            value={value}
            autocomplete="off"
            onInput={event => setValue(event.currentTarget.value)}
          />
          <datalist id={`${id}-values`}>
            {categories.map(each => (
              <option key={each} value={each} />
            ))}
          </datalist>
        </label>
      )}
      <label class="field">
        <span>Comment (optional)</span>
        <textarea rows={3} maxLength={2000} value={comment} onInput={event => setComment(event.currentTarget.value)} />
      </label>
      {span !== undefined && (
        <fieldset class="choices">
          <legend>Of</legend>
          <label>
            <input type="radio" name={`${id}-of`} checked={onSpan} onChange={() => setOnSpan(true)} />
            this span, {asLine(span.name, 60)}
          </label>
          <label>
            <input type="radio" name={`${id}-of`} checked={!onSpan} onChange={() => setOnSpan(false)} />
            the whole trace
          </label>
        </fieldset>
      )}
    </FormDialog>
  )
}

function readValue(type: DataType, text: string): number | string | boolean {
  if (type === 'boolean') {
    if (text === '') throw new Error('Say yes or no.')
    return text === 'yes'
  }
  if (type === 'categorical') return text
  const number = Number(text.trim().replace(',', '.'))
  if (text.trim() === '' || !Number.isFinite(number)) throw new Error('The value must be a number.')
  return number
}
