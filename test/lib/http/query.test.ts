import t from 'tap'
import Type from 'typebox'
import { Refusal } from '../../../lib/errors.ts'
import { queryReader } from '../../../lib/http/query.ts'

const read = queryReader(
  Type.Object(
    {
      name: Type.Optional(Type.String()),
      sort: Type.Optional(Type.Enum(['newest', 'slowest'])),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200 })),
      offset: Type.Optional(Type.Integer()),
      least: Type.Optional(Type.Number({ minimum: -1 })),
      tag: Type.Optional(Type.Array(Type.String(), { maxItems: 2 })),
      only: Type.Optional(Type.Boolean())
    },
    { additionalProperties: false }
  )
)

t.test('reads strings, numbers and booleans', async t => {
  const accepted: [string, object][] = [
    ['', {}],
    ['&&', {}],
    ['name=a+b%20c%2B%C3%A9', { name: 'a b c+\u00e9' }],
    ['na%6De=x=y', { name: 'x=y' }],
    ['limit=200&name=5', { limit: 200, name: '5' }],
    ['offset=0', { offset: 0 }],
    ['offset=-3', { offset: -3 }],
    ['sort=slowest', { sort: 'slowest' }],
    ['least=0.50', { least: 0.5 }],
    ['least=-1e-3', { least: -0.001 }],
    ['least=2E%2B1', { least: 20 }],
    ['only=true', { only: true }],
    ['only=false&name=true', { only: false, name: 'true' }],
    ['tag=a', { tag: ['a'] }],
    ['tag=b&limit=1&tag=a', { tag: ['b', 'a'], limit: 1 }]
  ]
  for (const [text, query] of accepted) t.same(read(text), query, text)
})

t.test('rejects unknown parameters by name', async t => {
  const known = '; the parameters are name, sort, limit, offset, least, tag, only'
  const refused: [string, string][] = [
    ['nam=x', `nam: unknown parameter${known}`],
    ['=x', 'query: every parameter must have a name'],
    ['=', 'query: every parameter must have a name'],
    ['__proto__=x', `__proto__: unknown parameter${known}`],
    ['constructor=x', `constructor: unknown parameter${known}`],
    [`${'x'.repeat(200)}=`, `${'x'.repeat(100)}\u2026: unknown parameter${known}`],
    ['name=a&name=a', 'name: must not be repeated'],
    ['name=', 'name: must not be empty'],
    ['name', 'name: must not be empty'],
    ['name=%zz', 'name: must be percent-encoded UTF-8'],
    ['name=%ff', 'name: must be percent-encoded UTF-8'],
    ['na%me=x', 'na%me: must be percent-encoded UTF-8'],
    ['tag=a&tag=', 'tag: must not be empty'],
    ['tag=a&tag=b&tag=c', 'tag: must have at most 2 items'],
    ['least=-2', 'least: must be at least -1'],
    ['sort=Newest', 'sort: must be one of newest, slowest'],
    ['limit=0', 'limit: must be at least 1'],
    ['limit=201', 'limit: must be at most 200'],
    ['limit=99999999999999999999', 'limit: must be an integer']
  ]
  const notIntegers = ['05', '%2B5', '+5', '1e1', '5.0', '0x5', '-0', ' 5', 'NaN', 'Infinity', '٥']
  for (const text of notIntegers) refused.push([`limit=${text}`, 'limit: must be an integer'])
  const notNumbers = ['.5', '5.', '05', '+5', '0x5', '1e', 'NaN', 'Infinity', '1,5', ' 5', '٥']
  for (const text of notNumbers) refused.push([`least=${encodeURIComponent(text)}`, 'least: must be a number'])
  for (const text of ['1', 'yes', 'True', 'null', ' true', '[true]'])
    refused.push([`only=${encodeURIComponent(text)}`, 'only: must be true or false'])
  refused.push(['only=', 'only: must not be empty'], ['only=true&only=true', 'only: must not be repeated'])
  const bare = queryReader(Type.Object({}, { additionalProperties: false }))
  t.throws(() => bare('a=b'), new Refusal('invalid_request', 'a: unknown parameter; there are no parameters'))
  for (const [text, message] of refused) {
    t.throws(() => read(text), new Refusal('invalid_request', message), text)
  }
})
