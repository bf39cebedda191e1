import fc from 'fast-check'
import t from 'tap'
import {
  choiceOf,
  describeValues,
  readScoreValue,
  scoreKindOf,
  scoreKinds
} from '../../../../../plugins/dashboard/app/state/score-kinds.ts'

const range = (minimum: number | null, maximum: number | null) =>
  scoreKinds([{ name: 'n', dataType: 'numeric', minimum, maximum, categories: [], description: '' }], [])[0]!
const keysOf = (minimum: number | null, maximum: number | null) => range(minimum, maximum).choices.map(({ key }) => key)

t.test('definitions come first, and recent scores follow', async t => {
  const defined = {
    name: 'verdict',
    dataType: 'categorical',
    minimum: null,
    maximum: null,
    description: 'Is it right?'
  }
  const kinds = scoreKinds(
    [{ ...defined, dataType: 'categorical', categories: ['correct', 'close'] }],
    [
      { name: 'resolved', dataType: 'boolean', count: 9, categories: [] },
      { name: 'verdict', dataType: 'categorical', count: 5, categories: ['other'] },
      { name: 'resolved', dataType: 'numeric', count: 1, categories: [] }
    ]
  )
  t.match(kinds, [
    { name: 'verdict', description: 'Is it right?', choices: [{ label: 'correct' }, { label: 'close' }] },
    {
      name: 'resolved',
      choices: [
        { key: 'y', value: true },
        { key: 'n', value: false }
      ]
    }
  ])
  t.equal(kinds.length, 2)
})

t.test('integers have digits as keys if one key is enough', async t => {
  t.same(keysOf(1, 5), ['1', '2', '3', '4', '5'])
  t.same(keysOf(0, 2), ['0', '1', '2'])
  t.same(keysOf(0, 9).length, 10)
  t.same(keysOf(1, 10), ['1', '2', '3', '4', '5', '6', '7', '8', '9', '0'])
  for (const [low, high] of [
    [0, 10],
    [0, 1],
    [0.5, 1],
    [null, 5],
    [1, null],
    [-1, 1],
    [1, 100],
    [0, 1e9]
  ] as const) {
    t.same(keysOf(low, high), [], `${low} to ${high}`)
  }
})

t.test('every category has its own key, which the review does not use', async t => {
  const kind = scoreKindOf('v', 'categorical', ['correct', 'partly', 'wrong', 'café', 'jjj', '日本'])
  t.equal(choiceOf(kind, 'P')?.value, 'partly')
  const anyCategories = fc.uniqueArray(fc.string({ minLength: 1, unit: 'grapheme' }), { maxLength: 20 })
  fc.assert(
    fc.property(anyCategories, categories => {
      const { choices } = scoreKindOf('v', 'categorical', categories)
      const keys = choices.map(({ key }) => key)
      return (
        choices.length === categories.length &&
        new Set(keys).size === keys.length &&
        keys.every(key => /^[a-z0-9]$/.test(key) && !'jkumg'.includes(key))
      )
    })
  )
})

t.test('typed values are read, or rejected with the rule', async t => {
  t.equal(readScoreValue(range(0, 1), '0,5'), 0.5)
  t.equal(readScoreValue(range(1, 5), '4'), 4)
  t.equal(readScoreValue(scoreKindOf('r', 'boolean'), 'yes'), true)
  t.equal(readScoreValue(scoreKindOf('r', 'categorical'), 'new value'), 'new value')
  const wrong: [ReturnType<typeof scoreKindOf>, string, RegExp][] = [
    [range(0, 1), '2', /at most 1/],
    [range(1, null), '0', /at least 1/],
    [range(null, null), 'x', /must be a number/],
    [range(null, null), ' ', /must be a number/],
    [scoreKindOf('r', 'boolean'), '', /yes or no/],
    [scoreKindOf('r', 'categorical'), ' ', /Choose a value/]
  ]
  for (const [kind, text, rule] of wrong) t.throws(() => readScoreValue(kind, text), rule)
})

t.test('the values of a score are described', async t => {
  t.equal(describeValues(range(1, 5)), 'number, 1 to 5')
  t.equal(describeValues(range(null, 0.9)), 'number, at most 0.9')
  t.equal(describeValues(range(null, null)), 'number')
  t.equal(describeValues(scoreKindOf('r', 'boolean')), 'yes or no')
  t.equal(describeValues(scoreKindOf('r', 'categorical', ['warm', 'cold'])), 'warm, cold')
  t.equal(describeValues(scoreKindOf('r', 'categorical')), 'any text')
})
