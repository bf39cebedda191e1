import fc from 'fast-check'
import t from 'tap'
import type { OutlineSpan } from '../../../../../plugins/dashboard/app/contract.ts'
import { inTime, stepsOfTurns, type Told, turnsOf } from '../../../../../plugins/dashboard/app/trace/turns.ts'
import { lasting, outlineSpan as span } from './spans.ts'

/** Creates the step that starts `id` seconds after the trace. */
const step = (id: string, kind: OutlineSpan['kind'], over: Partial<OutlineSpan> = {}) =>
  span(id, 'root', { kind, ...lasting(1000 * Number(id), 1000 * Number(id) + 900), ...over })
/** Draws turns as lines. */
const draw = (steps: readonly OutlineSpan[], told: Readonly<Record<string, Partial<Told>>>) =>
  turnsOf(steps, id => ({ text: '', prompt: '', error: '', ...told[id] })).map(
    ({ prompt, actions, answer }) =>
      `${prompt} | ${actions.map(({ span, error }) => span.id + (error && '!')).join(' ')} | ${answer?.text ?? ''}`
  )

t.test('a turn is a prompt, its actions and the answer', async t => {
  const steps = [step('1', 'llm'), step('2', 'tool'), step('3', 'tool'), step('4', 'llm'), step('5', 'llm')]
  const told = {
    '1': { prompt: 'Find it.', text: '→ search tea' },
    '2': { text: 'tea' },
    '3': { text: 'x', error: 'Away.' },
    '4': { text: 'Found.' },
    '5': { prompt: 'Thanks.', text: 'Welcome.' }
  }
  t.same(draw(steps, told), ['Find it. | 2 3! | Found.', 'Thanks. |  | Welcome.'])
})

t.test("a model's text between its calls is an action, and a text that only lists calls is not", async t => {
  const steps = [step('1', 'llm'), step('2', 'tool'), step('3', 'llm'), step('4', 'tool')]
  t.same(draw(steps, { '1': { prompt: 'Q', text: 'I look.' }, '3': { text: '→ a' } }), ['Q | 1 2 4 | '])
})

t.test('an agent states the prompt, unless its first call has a longer one', async t => {
  const steps = [step('0', 'agent'), step('1', 'llm'), step('2', 'llm')]
  t.same(draw(steps, { '0': { text: 'Q' }, '1': { prompt: 'Q', text: 'A' } }), ['Q | 1 | '])
  t.same(draw(steps, { '0': { text: 'Q' }, '1': { prompt: 'Rules. Q', text: '→ a' }, '2': { text: 'A' } }), [
    'Rules. Q |  | A'
  ])
  t.same(draw([step('1', 'tool')], {}), [' | 1 | '], 'steps without a prompt are a turn')
  t.same(draw([], {}), [])
})

t.test('the first turn can take its prompt from the trace, and the last its answer', async t => {
  const trace = { prompt: 'Q', answer: 'A' }
  const steps = [step('1', 'tool'), step('2', 'llm')]
  const turns = turnsOf(steps, id => (id === '2' ? { text: '→ a', prompt: 'And?', error: '' } : undefined), trace)
  t.match(turns, [
    { prompt: 'Q', answer: undefined },
    { prompt: 'And?', answer: { key: 'trace', text: 'A' } }
  ])
  const failed = turnsOf([step('1', 'llm')], () => ({ text: '', prompt: '', error: 'Away.' }), trace)
  t.match(failed, [{ prompt: 'Q', answer: undefined }], 'a failure is not an answer')
})

t.test('steps are in chronological order, parents first', async t => {
  const spans = [span('b', 'a'), span('c', 'b'), span('a'), span('z', null, lasting(-5, 0))]
  t.same(
    inTime(spans).map(({ id }) => id),
    ['z', 'a', 'b', 'c']
  )
  t.same(inTime([span('a', 'b'), span('b', 'a')]).length, 2, 'a cycle of parents')
  t.same(
    stepsOfTurns([span('a'), span('b', null, { kind: 'llm' }), span('c', 'a', { status: 'error' })]).map(
      ({ id }) => id
    ),
    ['b', 'c']
  )
})

t.test('no step is in two turns', async () => {
  const kinds = fc.constantFrom<OutlineSpan['kind']>('llm', 'tool', 'agent')
  const texts = fc.constantFrom('', 'a', 'b', '→ c')
  fc.assert(
    fc.property(fc.array(fc.tuple(kinds, texts, texts)), given => {
      const steps = given.map(([kind], i) => step(`${i}`, kind))
      const turns = turnsOf(steps, id => ({ text: given[Number(id)]![1], prompt: given[Number(id)]![2], error: '' }))
      const ids = turns.flatMap(({ actions, answer }) => [
        ...actions.map(each => each.span.id),
        ...(answer === undefined ? [] : [answer.key])
      ])
      const tools = given.filter(([kind]) => kind === 'tool').length
      return (
        new Set(ids).size === ids.length &&
        turns.flatMap(each => each.actions).filter(each => each.span.kind === 'tool').length === tools
      )
    })
  )
})
