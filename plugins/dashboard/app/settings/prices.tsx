/** Lists and sets model prices, and lists models whose calls have no price. */
import { useState } from 'preact/hooks'
import type { OwnPrice } from '../contract.ts'
import { at, write } from '../state/api.ts'
import { useRead } from '../state/load.ts'
import { may } from '../state/session.ts'
import { tell } from '../state/toasts.ts'
import { MainButton } from '../ui/controls.tsx'
import { Field, FormDialog } from '../ui/dialog.tsx'
import { Moment } from '../ui/facts.tsx'
import { formatCount } from '../ui/format.ts'
import { asLine } from '../ui/text.ts'
import { fullTime, type Zone } from '../ui/time.ts'
import { Listing, RowAction } from './listing.tsx'

const MOST_NAME = 200
const AMOUNT = /^\d+(\.\d+)?$/

export function Prices({ slug, zone }: { slug: string; zone: Zone }) {
  const loaded = useRead(at('p/:slug/prices', { slug }))
  const [adding, setAdding] = useState<string | undefined>()
  const isOwner = may(slug, 'owner')
  const { prices = [], unpriced = [] } = loaded.value ?? {}
  const remove = async ({ id }: OwnPrice) => {
    await write('DELETE', at('p/:slug/prices/:priceId', { slug, priceId: id }))
    tell('Price removed')
    loaded.again()
  }
  return (
    <section>
      <div class="head">
        <p class="soft">
          spoor computes the cost of OpenTelemetry calls that report tokens but no cost, using a built-in price list.
          Your own prices take precedence. They are in US dollars per million tokens and apply to new calls.
        </p>
        {isOwner && <MainButton onClick={() => setAdding('')}>Set a price</MainButton>}
      </div>
      <Listing
        loaded={loaded}
        what="the prices"
        columns={['Model', 'Valid from', 'Input', 'Output', 'Cache read', 'Cache write', 'Applies to']}
        none={loaded.value !== undefined && prices.length === 0 ? 'No custom prices yet.' : undefined}
      >
        {prices.map(price => (
          <tr key={price.id}>
            <td>{asLine(price.model, MOST_NAME)}</td>
            <td data-title="Valid from">{price.from === null ? 'always' : <Moment iso={price.from} zone={zone} />}</td>
            <td data-title="Input">{price.input}</td>
            <td data-title="Output">{price.output}</td>
            <td data-title="Cache read">{price.cacheRead ?? price.input}</td>
            <td data-title="Cache write">{price.cacheWrite ?? price.input}</td>
            <td data-title="Applies to">{price.ofProject ? 'this project' : 'all projects'}</td>
            <td>{isOwner && price.ofProject && <Remove price={price} remove={remove} />}</td>
          </tr>
        ))}
      </Listing>
      {unpriced.length > 0 && (
        <>
          <h2>Calls without a price</h2>
          <Listing loaded={loaded} what="the calls" columns={['Model', 'Calls', 'Last seen']}>
            {unpriced.map(({ model, calls, lastAt }) => (
              <tr key={model}>
                <td>{asLine(model, MOST_NAME)}</td>
                <td data-title="Calls">{formatCount(calls)}</td>
                <td data-title="Last seen">{fullTime(lastAt, zone)}</td>
                <td>
                  {isOwner && (
                    <RowAction
                      label="Set a price"
                      name={`Set a price for ${asLine(model, MOST_NAME)}`}
                      act={() => setAdding(model)}
                    />
                  )}
                </td>
              </tr>
            ))}
          </Listing>
        </>
      )}
      {adding !== undefined && (
        <SetPrice
          slug={slug}
          model={adding}
          onClose={() => setAdding(undefined)}
          done={() => {
            loaded.again()
            setAdding(undefined)
          }}
        />
      )}
    </section>
  )
}

function Remove({ price, remove }: { price: OwnPrice; remove(price: OwnPrice): Promise<void> }) {
  const [asked, setAsked] = useState(false)
  const name = asLine(price.model, MOST_NAME)
  const close = () => setAsked(false)
  return (
    <>
      <RowAction label="Remove" name={`Remove the price for ${name}`} act={() => setAsked(true)} />
      {asked && (
        <FormDialog title="Remove this price?" submit="Remove" danger onClose={close} onSubmit={() => remove(price)}>
          <p>
            The price for <b>{name}</b> will be removed. Costs that were already computed do not change.
          </p>
        </FormDialog>
      )}
    </>
  )
}

interface SetPriceProps {
  readonly slug: string
  readonly model: string
  onClose(): void
  done(): void
}

function SetPrice({ slug, model: given, onClose, done }: SetPriceProps) {
  const [model, setModel] = useState(given)
  const [input, setInput] = useState('')
  const [output, setOutput] = useState('')
  const [cacheRead, setCacheRead] = useState('')
  const [cacheWrite, setCacheWrite] = useState('')
  const amounts = [input, output, cacheRead, cacheWrite].map(text => text.trim())
  const isValid = amounts.every((text, i) => AMOUNT.test(text) || (i > 1 && text === ''))
  const [inputUsd, outputUsd, readUsd, writeUsd] = amounts.map(text => (text === '' ? null : Number(text)))
  return (
    <FormDialog
      title="Set a price"
      submit="Set"
      disabled={model.trim() === '' || !isValid}
      onClose={onClose}
      onSubmit={async () => {
        const prices = { input: inputUsd, output: outputUsd, cacheRead: readUsd, cacheWrite: writeUsd }
        await write('POST', at('p/:slug/prices', { slug }), { body: { model: model.trim(), ...prices } })
        done()
      }}
    >
      <p class="soft">In US dollars per million tokens; 0 for a model that is free.</p>
      <Field
        label="Model"
        note="As it appears in spans."
        required
        autocomplete="off"
        maxLength={MOST_NAME}
        value={model}
        set={setModel}
      />
      <Field label="Input" required autocomplete="off" placeholder="2.50" value={input} set={setInput} />
      <Field label="Output" required autocomplete="off" placeholder="10" value={output} set={setOutput} />
      <Field
        label="Cached input, read"
        note="Same as input if empty."
        autocomplete="off"
        value={cacheRead}
        set={setCacheRead}
      />
      <Field
        label="Cached input, written"
        note="Same as input if empty."
        autocomplete="off"
        value={cacheWrite}
        set={setCacheWrite}
      />
    </FormDialog>
  )
}
