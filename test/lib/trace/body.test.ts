import t from 'tap'
import { Refusal } from '../../../lib/errors.ts'
import { readBody } from '../../../lib/trace/body.ts'

const nested = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`
const read = (body: string | Uint8Array) => readBody(Buffer.from(body as string), 'invalid_request').value

t.test('reads JSON strictly', async t => {
  for (const body of ['{"a":1}', ' \n{"a":1}\t', '\ufeff{"a":1}']) t.same(read(body), { a: 1 }, JSON.stringify(body))
  t.equal(JSON.stringify(read(nested(100))), nested(100))
  const refused: [string, string | Uint8Array][] = [
    ['invalid_json', ''],
    ['invalid_json', ' '],
    ['invalid_json', '{'],
    ['invalid_json', "{'a':1}"],
    ['invalid_json', '{"a":1}}'],
    ['invalid_json', '[NaN]'],
    ['invalid_json', Buffer.from('{"a":"\xff"}', 'latin1')],
    ['invalid_request', nested(101)],
    ['invalid_request', `${'['.repeat(500_000)}${']'.repeat(500_000)}`]
  ]
  for (const [code, body] of refused) {
    const outcome = attempt(() => read(body))
    t.equal(outcome instanceof Refusal && outcome.code, code, String(body).slice(0, 20))
  }
})

function attempt(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error
  }
}
