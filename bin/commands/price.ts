import { type DescribedPrice, listPrices, type PriceListing, removePrices, setPrice } from '../../lib/admin/prices.ts'
import type { Recomputed } from '../../lib/admin/upkeep/recompute.ts'
import { command, UsageError } from '../command.ts'
import { withDatabase } from '../database.ts'
import { interruptible } from '../terminal/interrupt.ts'
import { table } from '../terminal/table.ts'
import { parseMoment, parseTimes, TIME_FLAGS } from '../terminal/times.ts'
import { count, counted, relativeTime } from '../terminal/words.ts'

const PROJECT = {
  type: 'string',
  value: 'SLUG',
  about: 'the project that the price applies to; all projects by default'
} as const

export const set = command({
  summary: 'Set a model’s prices, in US dollars per million tokens',
  parameters: ['MODEL'],
  flags: {
    input: { type: 'string', value: 'USD', required: true, about: 'price per million input tokens' },
    output: { type: 'string', value: 'USD', required: true, about: 'price per million output tokens' },
    'cache-read': {
      type: 'string',
      value: 'USD',
      about: 'price per million input tokens read from a cache; the --input price by default'
    },
    'cache-write': {
      type: 'string',
      value: 'USD',
      about: 'price per million input tokens written to a cache; the --input price by default'
    },
    from: {
      type: 'string',
      value: 'TIME',
      about: 'apply the price to calls that start at this time or later; to all calls by default'
    },
    project: PROJECT
  },
  details: [
    "MODEL is the model's name as it appears in spans. The price applies to new calls from OpenTelemetry or `spoor",
    'import` that have tokens but no cost. Calls in traces recorded through the API are never priced and keep the cost',
    'they were sent with. The price takes precedence over the bundled prices. To apply it to stored calls, run `spoor',
    'price recompute`.'
  ].join('\n'),
  examples: [
    'price set llama3.1:8b --input 0 --output 0',
    'price set gpt-4o --input 2 --output 8 --cache-read 1 --from 2026-07-01T00:00:00Z --project default'
  ],
  async run({ parameters, flags, env, print }) {
    const request = {
      model: parameters.MODEL,
      project: flags.project,
      from: parseMoment('from', flags.from),
      input: parsePrice('input', flags.input) as number,
      output: parsePrice('output', flags.output) as number,
      cacheRead: parsePrice('cache-read', flags['cache-read']),
      cacheWrite: parsePrice('cache-write', flags['cache-write'])
    }
    const price = await withDatabase(env, ({ sql }) => setPrice(sql, request))
    print(price, priceTable([price]))
  }
})

export const listing = command({
  summary: 'List your prices, and models without a price',
  flags: { project: { type: 'string', value: 'SLUG', about: 'only prices and models for this project' } },
  details: [
    'Only calls from OpenTelemetry and `spoor import` are priced. Calls in traces recorded through the API keep the',
    'cost they were sent with, and are not listed. `spoor usage --by model` counts all traces without a cost.'
  ].join('\n'),
  examples: ['price list', 'price list --project default --json'],
  async run({ flags, env, print }) {
    const listed = await withDatabase(env, ({ sql }) => listPrices(sql, flags.project))
    print(listed, describeListing(listed))
  }
})

export const removal = command({
  summary: 'Remove your prices for a model, so that the bundled prices apply',
  parameters: ['MODEL'],
  flags: {
    from: {
      type: 'string',
      value: 'TIME',
      about: 'remove only the price that takes effect at this time; all by default'
    },
    project: PROJECT,
    'dry-run': { type: 'boolean', about: 'show the prices without removing them' }
  },
  details: 'Costs already computed do not change until you run `spoor price recompute`.',
  examples: ['price remove llama3.1:8b', 'price remove gpt-4o --from 2026-07-01T00:00:00Z --project default'],
  async run({ parameters, flags, env, print }) {
    const request = { model: parameters.MODEL, project: flags.project, from: parseMoment('from', flags.from) }
    const dryRun = flags['dry-run']
    const gone = await withDatabase(env, ({ sql }) => removePrices(sql, request, dryRun))
    if (dryRun) {
      print(gone, `${priceTable(gone)}\nNothing was changed. Without --dry-run, these prices would be removed.`)
    } else print(gone, `removed ${counted(gone.length, 'price')} of ${parameters.MODEL}`)
  }
})

export const recompute = command({
  summary: 'Recompute the costs of stored traces with current prices',
  flags: {
    project: { type: 'string', value: 'SLUG', required: true, about: 'recompute costs in this project' },
    ...TIME_FLAGS,
    apply: { type: 'boolean', about: 'store the new costs; by default, the command only reports them' }
  },
  details: [
    'Recomputes the cost of each OpenTelemetry call that was sent with tokens but no cost. Costs sent with a call',
    'never change. The command works in small batches, so you can run it while the server is running. If it is',
    'interrupted, finished batches are kept; run it again to continue.'
  ].join('\n'),
  examples: ['price recompute --project default', 'price recompute --project default --from 30d --apply'],
  async run({ flags, env, print, progress }) {
    const { project, apply } = flags
    const request = { project, apply, ...parseTimes(flags) }
    await withDatabase(env, async ({ sql }) => {
      // Loaded here because --help does not need this module.
      const { recomputeCosts } = await import('../../lib/admin/upkeep/recompute.ts')
      const onProgress = ({ checked, traces }: Recomputed) =>
        progress.show(() => `${counted(checked, 'trace')} checked, ${count(traces)} to change`)
      const result = await interruptible(signal => recomputeCosts(sql, request, { onProgress, signal }))
      progress.clear()
      print({ ...result, applied: apply }, describeRecomputed(result, apply))
    })
  }
})

function describeRecomputed({ checked, traces, spans, before, after }: Recomputed, apply: boolean): string {
  const looked = `${counted(checked, 'OpenTelemetry trace')} checked`
  if (traces === 0) return `${looked}: all costs match the current prices`
  const verb = apply ? 'changed' : 'to change'
  const sums = `$${before.toFixed(6)} before, $${after.toFixed(6)} after`
  const advice = apply ? '' : '\nNothing was changed. Add --apply to store the new costs.'
  return `${looked}, ${count(traces)} ${verb}, with ${counted(spans, 'span')}: ${sums}${advice}`
}

function parsePrice(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text)
  throw new UsageError(
    `--${flag} must be a price in US dollars per million tokens, such as 2.50, not ${JSON.stringify(text)}`
  )
}

function priceTable(prices: readonly DescribedPrice[]): string {
  const heading = ['MODEL', 'PROJECT', 'FROM', 'INPUT', 'OUTPUT', 'CACHE READ', 'CACHE WRITE']
  const rows = prices.map(({ model, project, from, input, output, cacheRead, cacheWrite }) => [
    ...[model, project ?? 'all', from ?? 'always', input, output],
    ...[cacheRead ?? input, cacheWrite ?? input]
  ])
  return table(heading, rows, 'you have set no prices: set one with `spoor price set`')
}

function describeListing({ prices, unpriced }: PriceListing): string {
  if (unpriced.length === 0) return priceTable(prices)
  const rows = unpriced.map(({ model, project, calls, lastAt }) => [model, project, calls, relativeTime(lastAt)])
  return `${priceTable(prices)}\n\nCalls without a price:\n${table(['MODEL', 'PROJECT', 'CALLS', 'LAST'], rows, '')}`
}
