import { useState } from 'preact/hooks'
import { type Comparison, idIn, isTraceId, writeComparison } from '../state/comparison.ts'
import { goSearch } from '../state/place.ts'
import { Form } from '../ui/dialog.tsx'
import { Field } from '../ui/field.tsx'

export function Choose({ comparison }: { comparison: Comparison }) {
  const [a, setA] = useState(comparison.a)
  const [b, setB] = useState(comparison.b)
  return (
    <>
      <p>Select two traces in the list and press Compare, or give their ids.</p>
      <Form
        submit="Compare"
        onSubmit={() => {
          const ids = { a: idIn(a), b: idIn(b) }
          for (const [side, id] of Object.entries(ids)) {
            if (!isTraceId(id)) throw new Error(`Trace ${side.toUpperCase()}: an id has 32 hexadecimal characters.`)
          }
          goSearch(writeComparison(ids))
        }}
      >
        <Field label="Trace A" required spellcheck={false} autocomplete="off" value={a} set={setA} />
        <Field label="Trace B" required spellcheck={false} autocomplete="off" value={b} set={setB} />
      </Form>
    </>
  )
}
