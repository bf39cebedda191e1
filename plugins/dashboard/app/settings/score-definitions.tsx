/** Lists, sets and deletes the definitions of the scores that people give. */
import { useId, useState } from 'preact/hooks'
import type { DataType, ScoreDefinition } from '../contract.ts'
import { at, write } from '../state/api.ts'
import { useRead } from '../state/load.ts'
import { boundsOf } from '../state/score-kinds.ts'
import { may } from '../state/session.ts'
import { tell } from '../state/toasts.ts'
import { MainButton } from '../ui/controls.tsx'
import { Field, FormDialog } from '../ui/dialog.tsx'
import { asLine } from '../ui/text.ts'
import { Listing, RowAction } from './listing.tsx'

const TYPES: Readonly<Record<DataType, string>> = { numeric: 'Number', categorical: 'Category', boolean: 'Yes or no' }
const MOST_DESCRIPTION = 300

type Asked = { readonly what: 'edit'; readonly definition: ScoreDefinition | undefined } | AskedDelete
type AskedDelete = { readonly what: 'delete'; readonly definition: ScoreDefinition }

export function ScoreDefinitions({ slug }: { slug: string }) {
  const loaded = useRead(at('p/:slug/score-definitions', { slug }))
  const [asked, setAsked] = useState<Asked | undefined>()
  const isOwner = may(slug, 'owner')
  const definitions = loaded.value?.definitions ?? []
  const close = () => setAsked(undefined)
  const finish = (text: string) => {
    tell(text)
    loaded.again()
    close()
  }
  return (
    <section>
      <div class="head">
        <p class="soft">
          The scores that people add in this project. Annotations and reviews offer these names, with a key for each
          value. Scores sent through the API are not checked against this list.
        </p>
        {isOwner && (
          <MainButton onClick={() => setAsked({ what: 'edit', definition: undefined })}>Define a score</MainButton>
        )}
      </div>
      <Listing
        loaded={loaded}
        what="the scores"
        columns={['Name', 'Type', 'Values', 'Description']}
        none={loaded.value !== undefined && definitions.length === 0 ? 'No scores are defined yet.' : undefined}
      >
        {definitions.map(definition => (
          <tr key={definition.name}>
            <td>{definition.name}</td>
            <td data-title="Type">{TYPES[definition.dataType]}</td>
            <td data-title="Values">{valuesOf(definition)}</td>
            <td data-title="Description">{asLine(definition.description, MOST_DESCRIPTION)}</td>
            <td>
              {isOwner && (
                <>
                  <RowAction
                    label="Edit"
                    name={`Edit ${definition.name}`}
                    act={() => setAsked({ what: 'edit', definition })}
                  />{' '}
                  <RowAction
                    label="Delete"
                    name={`Delete ${definition.name}`}
                    act={() => setAsked({ what: 'delete', definition })}
                  />
                </>
              )}
            </td>
          </tr>
        ))}
      </Listing>
      {asked?.what === 'edit' && (
        <EditDefinition slug={slug} before={asked.definition} onClose={close} done={() => finish('Score saved')} />
      )}
      {asked?.what === 'delete' && (
        <FormDialog
          title="Delete this definition?"
          submit="Delete"
          danger
          onClose={close}
          onSubmit={async () => {
            const { name } = asked.definition
            await write('DELETE', at('p/:slug/score-definitions/:name', { slug, name }))
            finish('Definition deleted')
          }}
        >
          <p>
            Annotations will no longer offer <b>{asked.definition.name}</b>. Existing scores are kept.
          </p>
        </FormDialog>
      )}
    </section>
  )
}

function valuesOf(definition: ScoreDefinition): string {
  const { dataType, categories } = definition
  if (dataType === 'boolean') return 'yes, no'
  return dataType === 'categorical' ? asLine(categories.join(', '), 200) : boundsOf(definition) || 'any number'
}

interface EditProps {
  readonly slug: string
  readonly before: ScoreDefinition | undefined
  onClose(): void
  done(): void
}

function EditDefinition({ slug, before, onClose, done }: EditProps) {
  const [name, setName] = useState(before?.name ?? '')
  const [type, setType] = useState<DataType>(before?.dataType ?? 'numeric')
  const [minimum, setMinimum] = useState(before === undefined ? '1' : String(before.minimum ?? ''))
  const [maximum, setMaximum] = useState(before === undefined ? '5' : String(before.maximum ?? ''))
  const [categories, setCategories] = useState(before?.categories.join('\n') ?? '')
  const [description, setDescription] = useState(before?.description ?? '')
  const id = useId()
  const submit = async () => {
    const range = { minimum: readBound('Minimum', minimum), maximum: readBound('Maximum', maximum) }
    const values = categories
      .split('\n')
      .map(each => each.trim())
      .filter(each => each !== '')
    const body = {
      name,
      dataType: type,
      ...(type === 'numeric' && range),
      ...(type === 'categorical' && { categories: values }),
      description: description.trim()
    }
    await write('POST', at('p/:slug/score-definitions', { slug }), { body })
    done()
  }
  return (
    <FormDialog
      title={before === undefined ? 'Define a score' : `Edit ${before.name}`}
      submit="Save"
      onClose={onClose}
      onSubmit={submit}
    >
      <Field
        label="Name"
        note="Letters, digits, hyphens and underscores."
        required
        readOnly={before !== undefined}
        autocomplete="off"
        spellcheck={false}
        maxLength={64}
        value={name}
        set={setName}
      />
      <fieldset class="choices">
        <legend>Type</legend>
        {(Object.keys(TYPES) as DataType[]).map(each => (
          <label key={each}>
            <input type="radio" name={id} checked={type === each} onChange={() => setType(each)} />
            {TYPES[each]}
          </label>
        ))}
      </fieldset>
      {type === 'numeric' && (
        <>
          <Field label="Minimum (optional)" autocomplete="off" value={minimum} set={setMinimum} />
          <Field
            label="Maximum (optional)"
            note="If at most ten whole numbers are possible, each has its own key."
            autocomplete="off"
            value={maximum}
            set={setMaximum}
          />
        </>
      )}
      {type === 'categorical' && (
        <label class="field">
          <span>Categories, one per line</span>
          <textarea rows={5} required value={categories} onInput={event => setCategories(event.currentTarget.value)} />
        </label>
      )}
      <Field
        label="Description (optional)"
        note="One sentence that tells reviewers what to look for."
        autocomplete="off"
        maxLength={MOST_DESCRIPTION}
        value={description}
        set={setDescription}
      />
    </FormDialog>
  )
}

function readBound(label: string, text: string): number | null {
  if (text.trim() === '') return null
  const number = Number(text.trim().replace(',', '.'))
  if (!Number.isFinite(number)) throw new Error(`${label} must be a number.`)
  return number
}
