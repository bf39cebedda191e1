/** Tests steps of coding agents' calls, and the spans that replace the steps. */
import fc from 'fast-check'
import t from 'tap'
import { type GatheredSpan, gatheredUsage, ROOT } from '../../../../lib/trace/states/gathered.ts'
import { isSpanOf, isStepText } from '../../../../lib/trace/states/steps.ts'
import { runs } from '../../../torture/orders.ts'
import { exported, idOf, Store, span } from './export-store.ts'

const USAGE = { inputTokens: 100, outputTokens: 10, totalTokens: null }
const callOf = (n: number) => `${n}`.padStart(16, 'c')

/** Returns the step of a request that ends `at` seconds after the start. `request` returns the request's span. */
const requestStep = (n: number, at: number, responseId?: string) =>
  span(500 + n, at - 1, at, { kind: 'llm', ...USAGE, costUsd: 0.25, hints: { responseId, callSpanId: callOf(n) } })
const request = (n: number, at: number, responseId?: string, more: object = {}) =>
  span(n, at - 1, at, { kind: 'llm', hints: { responseId }, ...more })
const toolStep = (n: number, at: number, toolCallId: string) =>
  span(700 + n, at - 1, at, { kind: 'tool', hints: { toolCallId, callSpanId: callOf(n) } })
const tool = (n: number, at: number, toolCallId: string) => span(n, at - 1, at, { kind: 'tool', hints: { toolCallId } })

t.test("a span belongs to a step's call", t => {
  const isOf = (one: GatheredSpan, other: GatheredSpan) => isSpanOf(gatheredUsage(one), gatheredUsage(other))
  const step = requestStep(1, 5, 'r')
  t.equal(isOf(request(1, 5, 'r'), step), true, 'the same response at the same time')
  t.equal(isOf(request(1, 9, 'r'), step), false, 'the same id, later')
  t.equal(isOf(request(1, 5, 'other', USAGE), step), false)
  t.equal(isOf(request(1, 5, undefined, USAGE), step), true, 'the same usage')
  t.equal(isOf(request(1, 5, undefined, { ...USAGE, inputTokens: 99 }), step), false)
  t.equal(isOf(request(1, 5), requestStep(1, 5)), false, 'a span without usage')
  t.equal(isOf(span(501, 50, 60), step), true, 'the same span id')
  t.equal(isOf(span(Number.parseInt('0', 10), 0, 1, { kind: 'tool' }), step), false)
  t.equal(isOf(tool(2, 5, 't'), toolStep(1, 9, 't')), true)
  t.equal(isOf(tool(2, 5, 'u'), toolStep(1, 5, 't')), false)
  t.equal(isOf(toolStep(2, 5, 't'), toolStep(1, 5, 't')), false, "a step is not a call's span")
  t.equal(isOf({ ...span(1, 0, 1), id: callOf(1) }, step), true, 'a span made from a transcript')
  t.end()
})

t.test('a step is replaced by its span, and its cost counts for the span', t => {
  for (const order of [
    [[requestStep(1, 5, 'r')], [request(1, 5, 'r', USAGE)]],
    [[request(1, 5, 'r', USAGE)], [requestStep(1, 5, 'r')]]
  ]) {
    const { trace, spans, gathered } = exported(...order)
    t.match(trace, {
      spanCount: 1,
      costUsd: 0.25,
      inputTokens: 100,
      outputTokens: 10,
      bodyHash: spans.get(idOf(1))!.hash
    })
    t.same([...spans.keys()], [idOf(1)])
    t.equal(trace.estimatedBytes, trace.documentBytes + 100)
    t.equal(gathered.ranks[`step.${idOf(501)}`]?.length, 3)
  }
  const reported = exported([requestStep(1, 5, 'r')], [request(1, 5, 'r', { costUsd: 0.5, inputTokens: 1 })])
  t.match(reported.trace, { costUsd: 0.5, inputTokens: 1 }, "the span's own value takes precedence")
  t.end()
})

t.test('a step and a span can have the same id', t => {
  const step = span(1, 4, 4, { kind: 'agent', hints: { level: ROOT, callSpanId: callOf(1) } })
  const root = span(1, 0, 9, { kind: 'agent', status: 'ok', hints: { level: ROOT } })
  for (const order of [
    [[step], [root]],
    [[root], [step]]
  ]) {
    const store = exported(...order)
    t.match(store.trace, { spanCount: 1, status: 'ok', bodyHash: root.hash })
    t.match(store.export([step]), { growth: undefined, added: [], refusals: [], duplicate: 1 })
  }
  t.end()
})

/**
 * Two requests with the same response id, requests without an id, tools, and a root. Requests and tools are each
 * reported by a step, by a span, or by both.
 */
const sides = fc.constantFrom('step', 'span', 'both')
const calls = fc.array(fc.tuple(fc.constantFrom('request', 'repeated', 'unnamed', 'tool'), sides), { maxLength: 8 })
const trace = calls.map(calls =>
  calls.flatMap(([kind, side], i) => {
    const at = 10 * (i + 1)
    const id = kind === 'repeated' ? 'r' : kind === 'unnamed' ? undefined : `r${i}`
    const pair =
      kind === 'tool'
        ? [toolStep(i, at, `t${i}`), tool(i + 1, at, `t${i}`)]
        : [requestStep(i, at, id), request(i + 1, at, id, USAGE)]
    return pair.filter((_, n) => side === 'both' || (side === 'step') === (n === 0))
  })
)

t.test('the order and the portions of steps and spans do not matter', t => {
  fc.assert(
    fc.property(
      trace.chain(spans =>
        fc.tuple(
          fc.constant(spans),
          fc.shuffledSubarray(spans, { minLength: spans.length }),
          fc.array(fc.nat(3), { minLength: spans.length, maxLength: spans.length })
        )
      ),
      ([spans, order, cuts]) => {
        if (spans.length === 0) return
        const [one, other] = [new Store(), new Store()]
        // Steps and spans arrive in different exports.
        const isStep = (each: GatheredSpan) => each.hints.callSpanId !== undefined
        for (const part of [spans.filter(isStep), spans.filter(each => !isStep(each))]) {
          if (part.length > 0) one.export(part)
        }
        const part: GatheredSpan[] = []
        for (const [i, each] of order.entries()) {
          part.push(each)
          if (cuts[i] === 0) other.export(part.splice(0))
        }
        if (part.length > 0) other.export(part)
        for (const each of spans) other.export([each])
        t.same(other.trace, one.trace)
        t.same(other.gathered.ranks, one.gathered.ranks)
        t.same([...other.spans.keys()].sort(), [...one.spans.keys()].sort())
        const requests = new Set(spans.filter(({ kind }) => kind === 'llm').map(({ hints }) => hints.endMicros)).size
        t.equal(one.trace.inputTokens ?? 0, 100 * requests, 'each request counts once')
        t.equal(one.trace.spanCount, one.spans.size)
      }
    ),
    runs(100)
  )
  t.end()
})

t.test('only a serialised step is one', t => {
  const { ranks } = exported([requestStep(1, 5, 'r')], [request(1, 5, 'r')]).gathered
  const [, , text] = ranks[`step.${idOf(501)}`]!
  t.equal(isStepText(text), true)
  for (const wrong of ['', '[]', '{}', '[1]', text.replace('100', '1.5'), text.replace('"r"', '7')]) {
    t.equal(isStepText(wrong), false, wrong)
  }
  t.end()
})

t.test('a span without a slot also replaces its step', t => {
  const fill = Array.from({ length: 200 }, (_, i) => span(1000 + i, 0, 1))
  const root = span(999, 0, 90, { hints: { level: ROOT } })
  const failed = Array.from({ length: 30 }, (_, i) => span(2000 + i, 0, 1, { status: 'error' }))
  for (const order of [
    [[root, ...failed, ...fill], [request(1, 50, 'r', USAGE)], [requestStep(1, 50, 'r')]],
    [[root, ...failed, ...fill], [requestStep(1, 50, 'r')], [request(1, 50, 'r', USAGE)]]
  ]) {
    t.match(exported(...order).trace, { inputTokens: 100, costUsd: 0.25 })
  }
  t.end()
})
