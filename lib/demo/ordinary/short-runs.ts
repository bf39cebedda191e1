/** Ordinary runs of at most a dozen steps: a support agent, retrieval, extraction, translation, sorting of mail. */
import {
  contextTooLong,
  type DemoFailure,
  databaseFailure,
  invalidOutput,
  overloaded,
  rateLimit,
  timeout
} from './failures.ts'
import { type DemoModel, EMBEDDING_MODEL, MODELS } from './models.ts'
import { between, choose, integer } from './random.ts'
import type { DemoMessage, DemoRun } from './run.ts'
import { BLURBS, BOOKS, FOLLOW_UPS, MAILS, orderNumber, READERS, type SupportCase, SYSTEM } from './texts.ts'

/** Fields of a run's trace, apart from its spans. */
export interface RunOutcome {
  readonly input: unknown
  readonly output?: unknown
  readonly failure?: DemoFailure
  readonly model?: DemoModel
  /** The span that an evaluator judges instead of the trace. */
  readonly judged?: string
}

/** The circumstances of a run. */
export interface Scene {
  readonly prompt: 'v12' | 'v13'
  /** Probability that a model call is rejected because of a rate limit. It is high during an outage. */
  readonly rejected: number
  /** Whether the run belongs to the day on which somebody chose an expensive model by mistake. */
  readonly isExpensive: boolean
}

/** The turns of a conversation so far. Each turn is a trace. */
export interface DemoChat {
  readonly about: SupportCase
  readonly history: DemoMessage[]
}

/** Calls the model, up to three times if the provider rejects the call. Returns the last failure. */
export function callWithRetries(
  run: DemoRun,
  parent: string | undefined,
  model: DemoModel,
  messages: readonly DemoMessage[],
  output: unknown,
  scene: Scene,
  parameters?: object
): { readonly id: string; readonly failure?: DemoFailure } {
  for (let attempt = 1; ; attempt++) {
    const chance = run.random()
    const failure =
      chance < scene.rejected
        ? rateLimit(model.model, run.random)
        : chance > 0.988
          ? timeout(run.random)
          : chance > 0.98
            ? overloaded(run.random)
            : undefined
    const options = { failure, ...(parameters !== undefined && { parameters }) }
    const id = run.call(parent, model, messages, output, options)
    if (failure === undefined) return { id }
    if (attempt === 3 || failure.type === 'APITimeoutError') return { id, failure }
    run.now += 400 * 2 ** attempt
  }
}

const LOOK_UP = {
  delivery: 'lookup_order',
  refund: 'lookup_order',
  stock: 'search_stock',
  voucher: 'check_voucher'
} as const
const TOOLS = ['lookup_order', 'search_orders', 'search_stock', 'check_voucher', 'refund', 'create_ticket'].map(
  name => ({
    type: 'function',
    function: { name, parameters: { type: 'object', properties: { id: { type: 'string' } } } }
  })
)

/** One turn of a conversation with a customer. The first turn looks things up. */
export function supportTurn(run: DemoRun, scene: Scene, { about, history }: DemoChat): RunOutcome {
  const isFirst = history.length === 0
  const model = scene.prompt === 'v13' ? MODELS.mini : MODELS.sonnet
  const [question, answer] = isFirst ? [about.question, about.answer] : choose(FOLLOW_UPS, run.random)
  const root = run.open('support-agent', 'agent', { message: question })
  const messages: DemoMessage[] = [{ role: 'system', content: SYSTEM[scene.prompt] }, ...history]
  messages.push({ role: 'user', content: question })
  const end = (failure?: DemoFailure): RunOutcome => {
    root.close(failure === undefined ? { reply: answer } : undefined, failure)
    if (failure === undefined) history.push({ role: 'user', content: question }, { role: 'assistant', content: answer })
    return { input: question, model, ...(failure === undefined ? { output: answer } : { failure }) }
  }
  const parameters = { tools: TOOLS, temperature: 0.2, max_tokens: 800 }
  const tools: (readonly [name: string, input: unknown, output: unknown])[] = []
  if (isFirst) {
    if (run.random() < 0.4) tools.push(['search_orders', { query: question.slice(0, 24), limit: 5 }, about.found])
    tools.push([LOOK_UP[about.topic], { id: orderNumber(run.random) }, about.found])
    if (about.topic === 'refund') tools.push(['refund', { amount: 12.5, reason: 'damaged' }, { refunded: true }])
  } else if (run.random() < 0.5) {
    const ticket = `T-${integer(500, 999, run.random)}`
    tools.push(['create_ticket', { priority: 'normal', text: question }, { ticket }])
  }
  for (const [name, input, output] of tools) {
    const id = `call_${run.spanCount}`
    const request = { id, type: 'function', function: { name, arguments: JSON.stringify(input) } }
    const asked: DemoMessage = { role: 'assistant', content: '', tool_calls: [request] }
    const { failure } = callWithRetries(run, root.id, model, messages, asked, scene, parameters)
    if (failure !== undefined) return end(failure)
    messages.push(asked)
    // With version 13 of the prompt, fewer searches find nothing, so a comparison of the versions shows a difference.
    const isBroken = run.random() < (scene.prompt === 'v13' ? 0.04 : 0.13)
    if (isBroken) {
      const broken = databaseFailure(run.random)
      run.tool(root.id, name, input, undefined, broken)
      if (run.random() < 0.4) return end({ type: 'ToolError', message: `${name} failed: ${broken.message}` })
      run.now += 250
    }
    run.tool(root.id, name, input, output)
    messages.push({ role: 'tool', content: JSON.stringify(output), tool_call_id: id })
  }
  const { failure } = callWithRetries(
    run,
    root.id,
    model,
    messages,
    { role: 'assistant', content: answer },
    scene,
    parameters
  )
  return end(failure)
}

/** Retrieval: embeds the question, searches, reranks, and answers with quotations. */
export function catalogueSearch(run: DemoRun, scene: Scene): RunOutcome {
  const question = `I am looking for ${choose(READERS, run.random)}.`
  const root = run.open('catalogue-search', 'chain', { question, limit: 4 })
  const tokens = Math.ceil(question.length / 4)
  run.step({
    parent: root.id,
    name: `embeddings ${EMBEDDING_MODEL.model}`,
    kind: 'embedding',
    durationMs: between(40, 160, run.random),
    more: {
      provider: EMBEDDING_MODEL.provider,
      model: EMBEDDING_MODEL.model,
      input: question,
      usage: { inputTokens: tokens, totalTokens: tokens }
    }
  })
  const found = Array.from({ length: 4 }, () => choose(BOOKS, run.random))
  const documents = found.map(([title, author, price], i) => ({
    id: `shelf-${i}`,
    score: Math.round(1000 * between(0.5, 0.93, run.random)) / 1000,
    content: `${title} by ${author}, €${price.toFixed(2)}. Praised for its patience and its sense of place.`
  }))
  const isSlow = run.random() < 0.02
  const broken = run.random() < 0.02 ? databaseFailure(run.random) : undefined
  run.step({
    parent: root.id,
    name: 'vector_search',
    kind: 'retriever',
    durationMs: isSlow ? between(3000, 9000, run.random) : between(15, 120, run.random),
    failure: broken,
    more:
      broken === undefined ? { input: { query: question, top: 20 }, output: documents } : { input: { query: question } }
  })
  if (broken !== undefined) {
    root.close(undefined, broken)
    return { input: question, failure: broken, model: MODELS.flash }
  }
  run.step({
    parent: root.id,
    name: 'rerank',
    kind: 'reranker',
    durationMs: between(60, 240, run.random),
    more: { provider: 'cohere', model: 'rerank-v3.5', input: { query: question }, output: documents.slice(0, 3) }
  })
  const model = run.random() < 0.7 ? MODELS.flash : MODELS.mini
  const [[first, author], [second]] = [found[0]!, found[1]!]
  const best = `1. **${first}** by ${author}, because it is patient and unhurried. [shelf-0]`
  const answer = `Two that fit:\n\n${best}\n2. **${second}**, which is lighter. [shelf-1]`
  const messages: DemoMessage[] = [
    { role: 'system', content: `Recommend from these documents only, and cite them.\n\n${JSON.stringify(documents)}` },
    { role: 'user', content: question }
  ]
  const { id, failure } = callWithRetries(run, root.id, model, messages, { role: 'assistant', content: answer }, scene)
  root.close(failure === undefined ? { answer } : undefined, failure)
  return { input: question, model, judged: id, ...(failure === undefined ? { output: answer } : { failure }) }
}

/** Structured output. The model sometimes writes a number as a string, and a second attempt corrects it. */
export function extractInvoice(run: DemoRun, scene: Scene): RunOutcome {
  const input = { document: `invoice-${integer(1000, 9999, run.random)}.pdf`, pages: integer(1, 4, run.random) }
  const lines = Array.from({ length: integer(2, 9, run.random) }, () => {
    const [title, , price] = choose(BOOKS, run.random)
    return { title, copies: integer(1, 12, run.random), price }
  })
  const total = Math.round(100 * lines.reduce((sum, { copies, price }) => sum + copies * price, 0)) / 100
  const invoice = {
    supplier: choose(['Umbreit', 'Gardners', 'Libri', 'Hachette'], run.random),
    currency: 'EUR',
    lines,
    total
  }
  const root = run.open('extract-invoice', 'chain', input)
  run.step({
    parent: root.id,
    name: 'read_pdf',
    kind: 'custom',
    durationMs: between(90, 600, run.random),
    more: { input }
  })
  const text = lines.map(({ title, copies, price }) => `${copies} x ${title} ${price}`).join('\n')
  const messages: DemoMessage[] = [
    { role: 'system', content: 'Extract the invoice as JSON that matches the schema.' },
    { role: 'user', content: `${invoice.supplier}\n${text}\nTotal ${total}` }
  ]
  const parameters = {
    response_format: { type: 'json_schema', json_schema: { name: 'Invoice', strict: true } },
    temperature: 0
  }
  const model = scene.isExpensive ? MODELS.opus : MODELS.flash
  let last: DemoFailure | undefined
  for (let attempt = 0; attempt < 2; attempt++) {
    const isWrong = run.random() < 0.08 + attempt * 0.2
    const output = { role: 'assistant', content: JSON.stringify(isWrong ? { ...invoice, total: `${total}` } : invoice) }
    const { failure } = callWithRetries(run, root.id, model, messages, output, scene, parameters)
    if (failure !== undefined) {
      last = failure
      break
    }
    last = isWrong ? invalidOutput('total') : undefined
    const more = { input: JSON.parse(output.content) as unknown }
    run.step({ parent: root.id, name: 'validate', kind: 'custom', durationMs: 3, failure: last, more })
    if (last === undefined) break
  }
  root.close(last === undefined ? invoice : undefined, last)
  return { input, model, ...(last === undefined ? { output: invoice } : { failure: last }) }
}

export function translateBlurb(run: DemoRun, scene: Scene): RunOutcome {
  const [blurb, translated] = choose(BLURBS, run.random)
  const model = scene.isExpensive ? MODELS.opus : choose([MODELS.mini, MODELS.sonnet, MODELS.small], run.random)
  const messages: DemoMessage[] = [
    { role: 'system', content: 'Translate the blurb. Keep its rhythm, and use at most 300 characters.' },
    { role: 'user', content: blurb }
  ]
  const root = run.open('translate-blurb', 'chain', blurb)
  const { failure } = callWithRetries(run, root.id, model, messages, { role: 'assistant', content: translated }, scene)
  root.close(failure === undefined ? translated : undefined, failure)
  return { input: blurb, model, ...(failure === undefined ? { output: translated } : { failure }) }
}

/** A single model call without a root span, as a script records it. */
export function classifyMail(run: DemoRun, scene: Scene): RunOutcome {
  const [label, mail] = choose(MAILS, run.random)
  const messages: DemoMessage[] = [
    { role: 'system', content: 'Answer with one word: invoice, complaint, order, press or spam.' },
    { role: 'user', content: mail }
  ]
  const given = run.random() < 0.93 ? label : 'order'
  const tooLong = run.random() < 0.004 ? contextTooLong(integer(200_100, 260_000, run.random)) : undefined
  if (tooLong !== undefined) {
    run.call(undefined, MODELS.small, messages, undefined, { failure: tooLong })
    return { input: mail, model: MODELS.small, failure: tooLong }
  }
  const { failure } = callWithRetries(
    run,
    undefined,
    MODELS.small,
    messages,
    { role: 'assistant', content: given },
    scene
  )
  return { input: mail, model: MODELS.small, ...(failure === undefined ? { output: given } : { failure }) }
}

/** A request without any model call, which instrumentation records as well. */
export function stockSync(run: DemoRun): RunOutcome {
  const root = run.open('stock-sync', 'custom', { supplier: choose(['Umbreit', 'Gardners', 'Libri'], run.random) })
  const rows = integer(40, 900, run.random)
  for (const name of ['GET /v1/stock', 'UPDATE stock']) {
    const more = { attributes: { 'db.rows': rows } }
    run.step({ parent: root.id, name, kind: 'custom', durationMs: between(30, 900, run.random), more })
  }
  root.close({ rows })
  return { input: { rows }, output: { updated: rows } }
}
