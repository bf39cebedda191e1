/** Tests the modules of evaluators, their exports, and the verdicts that an evaluator may return. */
import fc from 'fast-check'
import t from 'tap'
import { type Evaluator, readEvaluators, readVerdict } from '../../../lib/evaluation/evaluator.ts'

const evaluate = () => true
const boolean: Evaluator = { id: 'a', name: 'short', dataType: 'boolean', evaluate }
const numeric: Evaluator = { ...boolean, dataType: 'numeric' }
const categorical: Evaluator = { ...boolean, dataType: 'categorical' }

t.test('a module exports one evaluator, a list of them, or its parts', t => {
  t.same(readEvaluators({ default: boolean }), [boolean])
  t.same(readEvaluators({ default: [boolean, { ...boolean, id: 'b' }] }).length, 2)
  t.same(readEvaluators({ ...boolean })[0]?.id, 'a')
  t.end()
})

t.test('an invalid evaluator is rejected with the member and the rule', t => {
  const refused: [unknown, RegExp][] = [
    [[], /the list of evaluators is empty/],
    [5, /an evaluator must be \{ id, name, dataType, evaluate \}/],
    [{ ...boolean, id: '' }, /^`id` must be 1 to 200 characters/],
    [{ ...boolean, id: 'a\nb' }, /^`id` must be/],
    [{ ...boolean, name: 'two words' }, /^`name` must be 1 to 64 letters/],
    [{ ...boolean, dataType: 'float' }, /^`dataType` must be one of numeric, categorical, boolean/],
    [{ ...boolean, evaluate: 1 }, /^`evaluate` must be a function/],
    [[boolean, boolean], /^two evaluators have the id "a"/],
    [[boolean, { ...boolean, id: 'b', name: '' }], /^evaluator 2: `name` must be/]
  ]
  for (const [given, message] of refused) {
    t.throws(() => readEvaluators({ default: given }), { name: 'EvaluatorError', message })
  }
  t.end()
})

t.test('a verdict must be a value, an object with a value, or nothing', t => {
  t.same(readVerdict(boolean, true), { value: true, comment: null, spanId: null })
  t.same(readVerdict(numeric, { value: 0.5, comment: 'half' }), { value: 0.5, comment: 'half', spanId: null })
  t.same(readVerdict(categorical, { value: 'good', spanId: 'ABCDEF0123456789' }), {
    ...{ value: 'good', comment: null, spanId: 'abcdef0123456789' }
  })
  for (const nothing of [undefined, null]) t.equal(readVerdict(boolean, nothing), undefined)
  const { comment } = readVerdict(boolean, { value: true, comment: 'é'.repeat(3000) })!
  t.equal(comment, `${'é'.repeat(1999)}…`)
  t.end()
})

t.test('a verdict that cannot be stored is rejected with the field and the rule', t => {
  const refused: [Evaluator, unknown, RegExp][] = [
    [boolean, 'yes', /value: must be a boolean/],
    [numeric, Number.NaN, /value: must be a number/],
    [numeric, {}, /value: must be a number/],
    [categorical, 'x'.repeat(201), /value: must have at most 200 characters/],
    [categorical, 'a\0b', /value .*U\+0000/],
    [boolean, { value: true, spanId: 'x' }, /spanId: must be 16 hexadecimal characters/],
    [
      boolean,
      { value: true, name: 'other' },
      /a verdict must be a value or \{ value, comment, spanId \}, without name/
    ],
    [boolean, [true], /a verdict must be a value/]
  ]
  for (const [evaluator, returned, message] of refused) {
    t.throws(() => readVerdict(evaluator, returned), { name: 'EvaluatorError', message })
  }
  t.end()
})

t.test('any returned value becomes a verdict, nothing, or an EvaluatorError', t => {
  fc.assert(
    fc.property(fc.constantFrom(boolean, numeric, categorical), fc.anything(), (evaluator, returned) => {
      try {
        const verdict = readVerdict(evaluator, returned)
        return verdict === undefined || ['number', 'string', 'boolean'].includes(typeof verdict.value)
      } catch (error) {
        return (error as Error).name === 'EvaluatorError'
      }
    })
  )
  t.end()
})
