import assert from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import { wholesOf } from '../../../lib/otlp/token-counts.ts'
import { runs } from '../../torture/orders.ts'
import { mapAttributes } from './mapped.ts'

type Attributes = Record<string, unknown>
type Counts = readonly [input?: number | undefined, output?: number | undefined, total?: number | undefined]

/** Returns the counts that were reported or follow from reported counts, without unknown counts. */
const usageOf = ([inputTokens, outputTokens, totalTokens]: Counts) => {
  const reported = Object.entries({ inputTokens, outputTokens, totalTokens }).filter(([, count]) => count !== undefined)
  return reported.length === 0 ? undefined : Object.fromEntries(reported)
}

const inObject = (details: object): Attributes[] =>
  ['langfuse.observation.usage_details', 'mlflow.chat.tokenUsage'].map(name => ({ [name]: JSON.stringify(details) }))

t.test('counts in an object: every way to state the total, and the parts that it may include', async t => {
  const cases: [string, object, Counts][] = [
    ['wholes', { input: 5, output: 6, total: 11 }, [5, 6, 11]],
    ["with OpenAI's names", { prompt_tokens: 5, completion_tokens: 6, total_tokens: 11 }, [5, 6, 11]],
    ['with parts in objects', { prompt_tokens: 5, prompt_tokens_details: { cached_tokens: 4 } }, [5]],
    ['with a part in a larger object', { prompt_tokens: 5, prompt_tokens_details: { cached_tokens: 40 } }, [45]],
    ['with the names of Responses', { input_tokens: 5, output_tokens: 6, input_cached_tokens: 4 }, [5, 6]],
    [
      "Anthropic's cache",
      { input_tokens: 5, output_tokens: 6, cache_creation_input_tokens: 100, cache_read_input_tokens: 20 },
      [125, 6]
    ],
    ["Anthropic's cache, smaller than the rest", { input_tokens: 50, cache_read_input_tokens: 20 }, [70]],
    ["Anthropic's cache with Langfuse's names", { input: 5, cache_read_input_tokens: 20 }, [25]],
    ['a cache included in the total', { input: 17903, input_cached_tokens: 17817, output: 120 }, [17903, 120]],
    ["the same with Anthropic's names", { input: 17903, cache_read_input_tokens: 17817, output: 120 }, [17903, 120]],
    ['reasoning included in the total', { input: 3, output: 120, output_reasoning_tokens: 100 }, [3, 120]],
    ['reasoning not included in the total', { input: 3, output: 20, output_reasoning_tokens: 100 }, [3, 120]],
    [
      "Gemini's thoughts not included in the output, as the total shows",
      { input: 17903, input_cached_tokens: 17817, output: 120, thoughts: 40, total: 18063 },
      [17903, 160, 18063]
    ],
    [
      'parts not included in the rest',
      { input: 60, output: 12, total: 120, input_cached_tokens: 30, input_cache_read: 10, output_reasoning_tokens: 8 },
      [100, 20, 120]
    ],
    ['parts alone', { input_cache_read: 10, output_audio: 3 }, [10, 3]],
    [
      'the total shows that the parts are included',
      { input: 100, output: 20, total: 120, input_cached_tokens: 40 },
      [100, 20, 120]
    ],
    [
      'the total shows that the cache is included',
      { input_tokens: 100, output_tokens: 20, total_tokens: 120, cache_read_input_tokens: 40 },
      [100, 20, 120]
    ],
    ['an unexplained total', { input: 100, output: 20, total: 500 }, [100, 20, 120]],
    ['a total below its parts', { input: 100, output: 20, total: 90 }, [100, 20, 120]],
    ['a total below the only count', { input: 100, total: 90 }, [100]],
    ['a total alone', { total: 90 }, [undefined, undefined, 90]],
    ['a count reported twice', { input: 5, input_tokens: 5 }, [5]],
    ['no counts', { input: -1, inputs: 7, output: 'x', total: 0.5 }, []],
    ['more than a number holds', { input: Number.MAX_SAFE_INTEGER, input_x: 1 }, [Number.MAX_SAFE_INTEGER]],
    ['more than a number holds, added', { input: 1, input_x: Number.MAX_SAFE_INTEGER }, [Number.MAX_SAFE_INTEGER]]
  ]
  for (const [title, details, counts] of cases) {
    for (const attributes of inObject(details)) t.strictSame(mapAttributes(attributes).usage, usageOf(counts), title)
  }
})

t.test('counts under separate names, whose parts they may include', async t => {
  const parts: [Attributes, Attributes][] = [
    [
      { 'gen_ai.usage.input_tokens': 10, 'gen_ai.usage.output_tokens': 5 },
      { 'gen_ai.usage.cache_read.input_tokens': 1000, 'gen_ai.usage.cache_creation.input_tokens': 200 }
    ],
    [
      { 'gen_ai.usage.input_tokens': 10, 'gen_ai.usage.output_tokens': 5 },
      { 'gen_ai.usage.cache_read_input_tokens': '1000', 'gen_ai.usage.cache_creation_input_tokens': '200' }
    ],
    [
      { 'gen_ai.usage.prompt_tokens': 10, 'gen_ai.usage.completion_tokens': 5 },
      { 'gen_ai.usage.cache_read.input_tokens': 1000, 'gen_ai.usage.cache_write.input_tokens': 200 }
    ],
    [
      { 'llm.usage.prompt_tokens': 10, 'llm.usage.completion_tokens': 5 },
      { 'llm.usage.cache_read_input_tokens': 1000, 'llm.usage.cache_creation_input_tokens': 200 }
    ],
    [
      { 'llm.token_count.prompt': 10, 'llm.token_count.completion': 5 },
      { 'llm.token_count.prompt_details.cache_read': 1000, 'llm.token_count.prompt_details.cache_write': 200 }
    ],
    [
      { 'ai.usage.inputTokens': 10, 'ai.usage.outputTokens': 5 },
      { 'ai.usage.inputTokenDetails.cacheReadTokens': 1000, 'ai.usage.inputTokenDetails.cacheWriteTokens': 200 }
    ],
    [{ 'ai.usage.promptTokens': 10, 'ai.usage.completionTokens': 5 }, { 'ai.usage.cachedInputTokens': 1200 }],
    [
      { 'gen_ai.usage.input_tokens': 10, 'gen_ai.usage.output_tokens': 5 },
      { 'gen_ai.usage.details.cache_read_tokens': 1000, 'gen_ai.usage.details.cache_write_tokens': 200 }
    ]
  ]
  for (const [wholes, cached] of parts) {
    const title = Object.keys(cached).join(' ')
    const attributes = { ...wholes, ...cached }
    const mapped = mapAttributes(attributes)
    t.strictSame(mapped.usage, usageOf([1210, 5]), `${title}: larger than the total`)
    const { cacheReadTokens, cacheWriteTokens } = mapped.callDetails
    t.equal((cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0), 1200)
    t.match(mapped.attributes, cached, 'the parts remain attributes')
    const [input] = Object.keys(wholes) as [string]
    t.equal(mapped.attributes[input], wholes[input], 'and so does the count that is not the total')
    t.strictSame(
      mapAttributes({ ...attributes, [input]: 2000 }).usage,
      usageOf([2000, 5]),
      `${title}: included in the total`
    )
    t.equal(mapAttributes({ ...attributes, [input]: 2000 }).attributes[input], undefined)
    const total = (count: number) => ({ ...attributes, 'gen_ai.usage.total_tokens': count })
    t.strictSame(mapAttributes(total(1215)).usage, usageOf([1210, 5, 1215]), 'with a total')
    t.strictSame(mapAttributes(total(15)).usage, usageOf([1210, 5, 1215]), 'with a total of the remainder')
    t.strictSame(mapAttributes({ ...total(3205), [input]: 2000 }).usage, usageOf([3200, 5, 3205]), 'beside it')
  }
  const total = { 'gen_ai.usage.total_tokens': 90 }
  t.strictSame(mapAttributes(total).usage, usageOf([undefined, undefined, 90]))
  t.strictSame(mapAttributes({ 'gen_ai.usage.input_tokens': 30, ...total }).usage, usageOf([30, undefined, 90]))
  const contradicted = { 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.output_tokens': 20, ...total }
  t.match(mapAttributes(contradicted), { usage: { totalTokens: 120 }, attributes: total })
})

t.test('cached and reasoning tokens have one form, whichever dialect states them', async t => {
  const used = { 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.output_tokens': 50 }
  const names = {
    cacheReadTokens: [
      'gen_ai.usage.cache_read.input_tokens',
      'gen_ai.usage.cache_read_input_tokens',
      'gen_ai.usage.details.cache_read_tokens',
      'gen_ai.usage.cached_tokens',
      'llm.token_count.prompt_details.cache_read',
      'ai.usage.cachedInputTokens',
      'ai.usage.inputTokenDetails.cacheReadTokens'
    ],
    cacheWriteTokens: [
      'gen_ai.usage.cache_creation.input_tokens',
      'gen_ai.usage.cache_write.input_tokens',
      'gen_ai.usage.cache_creation_input_tokens',
      'llm.token_count.prompt_details.cache_write',
      'ai.usage.inputTokenDetails.cacheWriteTokens'
    ],
    reasoningTokens: [
      'gen_ai.usage.reasoning.output_tokens',
      'gen_ai.usage.reasoning_tokens',
      'gen_ai.usage.details.reasoning_tokens',
      'llm.token_count.completion_details.reasoning',
      'ai.usage.reasoningTokens',
      'ai.usage.outputTokenDetails.reasoningTokens'
    ]
  }
  for (const [field, list] of Object.entries(names)) {
    for (const name of list) {
      const { callDetails, usage } = mapAttributes({ ...used, [name]: '7' })
      t.match(callDetails, { [field]: 7 }, name)
      t.strictSame(usage, usageOf([100, 50]))
      t.match(mapAttributes({ ...used, [name]: -7 }).callDetails, { [field]: undefined })
      t.match(mapAttributes({ ...used, [name]: 0.5 }).callDetails, { [field]: undefined })
      t.match(mapAttributes({ ...used, [name]: 0 }).callDetails, { [field]: 0 })
    }
  }
  const objects: [object, object][] = [
    [{ input: 100, input_cached_tokens: 7 }, { cacheReadTokens: 7 }],
    [
      { input: 100, input_cache_read: 7, input_cache_creation: 8 },
      { cacheReadTokens: 7, cacheWriteTokens: 8 }
    ],
    [
      { input_tokens: 1, cache_read_input_tokens: 7, cache_creation_input_tokens: 8 },
      { cacheReadTokens: 7, cacheWriteTokens: 8 }
    ],
    [{ prompt_tokens: 100, prompt_tokens_details: { cached_tokens: 7 } }, { cacheReadTokens: 7 }],
    [{ input_tokens: 100, 'input_tokens_details.cached_tokens': 7 }, { cacheReadTokens: 7 }],
    [{ output: 100, output_reasoning_tokens: 7 }, { reasoningTokens: 7 }],
    [{ completion_tokens: 100, completion_tokens_details: { reasoning_tokens: 7 } }, { reasoningTokens: 7 }],
    [{ output: 100, thoughts: 7 }, { reasoningTokens: 7 }]
  ]
  for (const [details, parts] of objects) {
    for (const attributes of inObject(details)) t.match(mapAttributes(attributes).callDetails, parts)
  }
  t.match(mapAttributes({ 'gen_ai.usage.cached_tokens': 7 }), { usage: undefined, callDetails: {} }, 'a part of zero')
})

t.test('for any input, totals include their parts, and input, output and total agree', async () => {
  const count = fc.oneof(fc.nat(9), fc.nat(2000), fc.constant(Number.MAX_SAFE_INTEGER))
  const reported = fc.record({
    inputTokens: fc.option(count),
    outputTokens: fc.option(count),
    totalTokens: fc.option(count)
  })
  const agree = fc.property(reported, count, count, (given, inputParts, outputParts) => {
    const [inputTokens, outputTokens, totalTokens] = Object.values(given).map(count => count ?? undefined)
    const wholes = wholesOf({ inputTokens, outputTokens, totalTokens }, inputParts, outputParts)
    const { inputTokens: input, outputTokens: output, totalTokens: total } = wholes
    assert.equal(input === undefined, inputTokens === undefined, 'nothing is made up')
    assert.equal(output === undefined, outputTokens === undefined)
    if (input !== undefined) assert.ok(input >= inputParts && input >= (inputTokens as number))
    if (output !== undefined) assert.ok(output >= outputParts && output >= (outputTokens as number))
    if (total !== undefined) {
      const sum = Math.min((input ?? 0) + (output ?? 0), Number.MAX_SAFE_INTEGER)
      assert.ok(input === undefined || output === undefined ? total >= sum : total === sum)
    }
    assert.deepEqual(wholesOf(wholes, inputParts, outputParts), wholes, 'the form is final')
  })
  fc.assert(agree, runs(500))
})
