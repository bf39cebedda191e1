import { useState } from 'preact/hooks'
import { besidesMessages, type Parameter, parametersIn, scalarText, toolNames } from '../content/besides.ts'
import type { Body } from '../content/bodies.ts'
import { type JsonNode, sourceOf } from '../content/json-text.ts'
import { JsonView } from '../content/json-view.tsx'
import { Icon } from '../ui/controls.tsx'
import { asLine } from '../ui/text.ts'

/**
 * Shows the data that was sent to the model along with the messages: values on a line, tools and schemas behind a
 * button.
 */
export function CallParameters({ body, node }: { body: Body; node: JsonNode | undefined }) {
  const own = besidesMessages(body.text, node)
  const names = new Set(own.map(({ name }) => name))
  const all = [...own, ...parametersIn(body.text, body.attributes).filter(({ name }) => !names.has(name))]
  const scalars = all.flatMap(parameter => {
    const value = scalarText(parameter)
    return value === undefined ? [] : [{ name: parameter.name, value }]
  })
  const others = all.filter(parameter => scalarText(parameter) === undefined)
  if (all.length === 0) return null
  return (
    <section class="parameters" aria-label="Parameters">
      {scalars.length > 0 && (
        <p class="facts">
          {scalars.map(({ name, value }) => (
            <span key={name}>
              {asLine(name, 40)} <b>{asLine(value, 120)}</b>
            </span>
          ))}
        </p>
      )}
      {others.map(parameter => (
        <Structured key={parameter.name} parameter={parameter} />
      ))}
    </section>
  )
}

function Structured({ parameter }: { parameter: Parameter }) {
  const [open, setOpen] = useState(false)
  const { name, text, node } = parameter
  const tools = /tool|function/i.test(name) ? toolNames(parameter) : []
  const said = tools.length > 0 ? tools.join(', ') : sourceOf(text, node).slice(0, 400)
  return (
    <div class="folding call">
      <button type="button" class="plain" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={open ? 'down' : 'right'} />{' '}
        <span>
          <b>{asLine(name, 60)}</b>
          {tools.length > 0 && ` (${tools.length})`} {asLine(said, 160)}
        </span>
      </button>
      {open && (
        <div class="fold-content">
          <JsonView text={text} node={node} label={name} />
        </div>
      )}
    </div>
  )
}
