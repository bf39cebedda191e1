/** Bundled prices yield the costs that their package computes, and distinguish providers as the package does. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { calcPrice, findProvider, type ModelInfo } from '@pydantic/genai-prices'
import fc from 'fast-check'
import t from 'tap'
import { BUNDLED_PRICES, findBundled, learnModels, pricesAt } from '../../../../lib/trace/prices/bundled.ts'
import { priceTokens } from '../../../../lib/trace/prices/token-prices.ts'
import { runs } from '../../../torture/orders.ts'

const PROVIDERS = ['openai', 'anthropic', 'google', 'azure', 'aws', 'mistral', 'groq', 'deepseek', 'x-ai', 'perplexity']
const models = PROVIDERS.flatMap(provider =>
  (findProvider({ providerId: provider })?.models ?? []).map(model => ({ provider, model }))
)
const hasTokens = ({ prices }: ModelInfo) =>
  (Array.isArray(prices) ? prices : [{ prices }]).every(each => each.prices.input_mtok !== undefined)

t.test('the constants name the installed version', async t => {
  const installed = new URL('../../../../../node_modules/@pydantic/genai-prices/package.json', import.meta.url)
  t.equal(JSON.parse(readFileSync(installed, 'utf8')).version, BUNDLED_PRICES.version)
})

t.test("each cost equals the package's, at any time and for any tokens", async t => {
  t.ok(models.length > 300)
  const count = fc.oneof(fc.constant(0), fc.nat(1000), fc.nat(500_000))
  const calls = fc.record({
    named: fc.constantFrom(...models),
    time: fc.date({
      min: new Date('2024-01-01T00:00:00Z'),
      max: new Date('2027-06-01T00:00:00Z'),
      noInvalidDate: true
    }),
    ...{
      rest: count,
      cacheRead: count,
      cacheWrite: count,
      output: count,
      reasoning: fc.double({ min: 0, max: 1, noNaN: true })
    }
  })
  fc.assert(
    fc.property(
      calls,
      ({ named: { provider, model }, time, rest, cacheRead, cacheWrite, output, reasoning: share }) => {
        const input = rest + cacheRead + cacheWrite
        const reasoning = Math.floor(output * share)
        const wanted = calcPrice(
          {
            ...{ input_tokens: input, output_tokens: output, output_reasoning_tokens: reasoning },
            ...{ cache_read_tokens: cacheRead, cache_write_tokens: cacheWrite }
          },
          model.id,
          { providerId: provider, timestamp: time }
        )
        const found = findBundled(provider, model.id, true)
        if (wanted === null || !hasTokens(wanted.model)) return assert.equal(found, null)
        assert.ok(found)
        assert.equal(found.id, `${wanted.provider.id}/${wanted.model.id}`)
        const cost = priceTokens(pricesAt(found, time.toISOString()), {
          input,
          cacheRead,
          cacheWrite,
          output,
          reasoning
        })
        assert.ok(Math.abs(cost - wanted.total_price) <= 1e-9 * wanted.total_price, `${cost} for ${wanted.total_price}`)
      }
    ),
    runs(2000)
  )
})

t.test('a provider is recognised by the names that libraries send', async t => {
  const cases: [provider: string | null, model: string, id: string | undefined][] = [
    ['openai', 'gpt-4o-mini-2024-07-18', 'openai/gpt-4o-mini'],
    ['OpenAI', 'gpt-4o', 'openai/gpt-4o'],
    ['openai.responses', 'gpt-5', 'openai/gpt-5'],
    ['azure', 'gpt-4o', 'azure/gpt-4o'],
    ['azure.ai.inference', 'gpt-4o', 'azure/gpt-4o'],
    ['anthropic', 'claude-sonnet-4-20250514', 'anthropic/claude-sonnet-4-0'],
    ['gcp.gemini', 'gemini-2.5-pro', 'google/gemini-2.5-pro'],
    ['gcp.gen_ai', 'gemini-2.5-pro', 'google/gemini-2.5-pro'],
    ['gcp.vertex_ai', 'gemini-2.5-pro', 'google/gemini-2.5-pro'],
    ['mistral_ai', 'mistral-large-latest', 'mistral/mistral-large'],
    ['x_ai', 'grok-3', 'x-ai/grok-3'],
    ['xai.chat', 'grok-3', 'x-ai/grok-3'],
    ['litellm', 'openai/gpt-4o', 'openai/gpt-4o'],
    ['langchain', 'gpt-4o', 'openai/gpt-4o'],
    ['', 'gpt-4o', 'openai/gpt-4o'],
    [null, 'claude-sonnet-4-5', 'anthropic/claude-sonnet-4-5'],
    [null, 'models/gemini-2.0-flash', 'google/gemini-2.0-flash'],
    ['openai', 'text-embedding-3-small', 'openai/text-embedding-3-small'],
    ['openai', 'my-model', undefined],
    [null, 'my-model', undefined],
    // Models on the user's own machine have no known cost.
    ['ollama', 'gpt-4-1106-preview', undefined],
    ['vllm', 'deepseek-chat', undefined],
    // This model is priced by the hour.
    ['openai', 'whisper-1', undefined]
  ]
  for (const [provider, model, id] of cases) t.equal(findBundled(provider, model, true)?.id, id, `${provider} ${model}`)
})

t.test('if the package must not be loaded, only prices found by others are known', async t => {
  t.throws(() => findBundled('openai', 'gpt-never', false), { message: 'the prices are not loaded on this thread' })
  const key = 'openai\ngpt-never'
  const model = { id: 'openai/gpt-4.1', prices: [{ rates: { input: 2 } }] }
  learnModels(structuredClone([[key, model]]))
  t.same(findBundled('openai', 'gpt-never', false), model)
  learnModels([['ollama\nllama3', null]])
  t.equal(findBundled('ollama', 'llama3', false), null)
})
