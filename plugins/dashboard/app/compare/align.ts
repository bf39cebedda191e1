/**
 * Aligns the spans of two traces in one list of rows, which keeps the order of both trees. A pair of steps scores more,
 * the more the two have in common:
 *
 * 1. the same step with the same input and status
 * 2. the same step with the same input
 * 3. the same step with the same status
 * 4. the same step
 * 5. the same name
 *
 * The same step has the same kind, and the same names from the root down. Names exclude models, so that `chat gpt-5` in
 * one trace matches `chat gpt-5-mini` in the other. The rows have the highest total score, so a retried, inserted or
 * removed step does not shift the steps after it.
 *
 * For long traces, the best rows would take too long to find. Passes from the strictest to the loosest of these rules
 * then pair the steps that both traces have in the same order, until the gaps between pairs are short. Gaps that stay
 * long are split evenly.
 */

import { growTree, type Node, visibleRows } from '../content/span-tree.ts'
import type { OutlineSpan } from '../contract.ts'
import { commonRuns } from './sequence.ts'

export interface AlignedStep {
  readonly span: OutlineSpan
  readonly depth: number
  /** The span's name without the model. */
  readonly name: string
  /** Index of the parent among the trace's steps; -1 if it has none. */
  readonly parent: number
}

/** Two matching steps, or one step without a match. */
export interface AlignedRow {
  /** The id of the first trace's span, or `b:` and the id for a span that exists only in the second trace. */
  readonly key: string
  readonly a: AlignedStep | undefined
  readonly b: AlignedStep | undefined
}

/** Converts spans to steps, parents before children. */
export function stepsOf(spans: readonly OutlineSpan[]): AlignedStep[] {
  const roots = growTree(spans)
  const parents = new Map<Node, number>()
  const steps: AlignedStep[] = []
  for (const { node, depth } of visibleRows(roots, new Set())) {
    for (const child of node.children) parents.set(child, node.span === undefined ? -1 : steps.length)
    if (node.span === undefined) continue
    steps.push({ span: node.span, depth, name: withoutModel(node.span), parent: parents.get(node) ?? -1 })
  }
  return steps
}

/**
 * Removes words that equal the model's name, are a prefix of that name, or extend that name, for example by a version
 * date.
 */
function withoutModel({ name, model }: OutlineSpan): string {
  if (model === null || model.length < LEAST_MODEL) return name
  const words = name.split(' ')
  const others = words.filter(word => word.length < LEAST_MODEL || !(model.startsWith(word) || word.startsWith(model)))
  // A name that consists only of the model's name is kept.
  return others.length === 0 ? name : others.join(' ')
}

/** Minimum length of a model name that is removed. A shorter name such as `o1` could be the prefix of any word. */
const LEAST_MODEL = 4

/** Returns a feature of a step, or undefined if the step lacks it. `path` stands for the names from the root down. */
type Feature = (step: AlignedStep, path: number) => string | undefined

const inputOf = ({ inputBytes, inputDigest }: OutlineSpan) => `${inputBytes} ${inputDigest}`
/** The strictest feature is first. Steps that share a feature share those after it. */
const FEATURES: readonly Feature[] = [
  ({ span }, path) => (span.inputBytes === 0 ? undefined : `${path} ${span.kind} ${inputOf(span)} ${span.status}`),
  ({ span }, path) => (span.inputBytes === 0 ? undefined : `${path} ${span.kind} ${inputOf(span)}`),
  ({ span }, path) => `${path} ${span.kind} ${span.status}`,
  ({ span }, path) => `${path} ${span.kind}`,
  ({ name }) => name
]
/** Scores of pairs that share the feature at the same index. */
const SCORES = [48, 40, 24, 16, 8]
/** Additional score of a pair right after a pair, so that a step stays with the step that led to it. */
const ADJACENT = 1

/** Maximum number of pairs of steps that are compared at once. A gap with more is split. */
const MOST_PAIRS = 2_000_000
/** Maximum number of search steps of a pass over long traces. */
const PASS_STEPS = 50_000
/**
 * Minimum share of the steps in a gap that a pass must pair. Otherwise, a few calls that both traces make at
 * different times would keep all steps between them apart.
 */
const LEAST_PAIRED = 0.25

/** Numbers of the features of each step. Equal features have equal numbers. */
type Features = readonly Int32Array[]

/** Returns rows that contain each span of both traces once, in the order of both trees. */
export function alignSteps(a: readonly AlignedStep[], b: readonly AlignedStep[]): AlignedRow[] {
  const numbers = new Map<string, number>()
  const numberOf = (text: string) => {
    const known = numbers.get(text) ?? numbers.size
    numbers.set(text, known)
    return known
  }
  /** Steps without a feature get different negative numbers, beginning with `none`. */
  const featuresOf = (steps: readonly AlignedStep[], none: -1 | -2): Features => {
    const paths: number[] = []
    for (const { name, parent } of steps) paths.push(numberOf(`${paths[parent]} ${name}`))
    return FEATURES.map(feature =>
      Int32Array.from(steps, (step, i) => {
        const text = feature(step, paths[i]!)
        return text === undefined ? none - 2 * i : numberOf(`: ${text}`)
      })
    )
  }
  const [inA, inB] = [featuresOf(a, -1), featuresOf(b, -2)]
  /** The index in `b` of the partner of each step of `a`; -1 if it has none. */
  const partners = new Int32Array(a.length).fill(-1)
  for (const [i, feature] of inA.entries()) {
    const long = gapsOf(partners, b.length).filter(gap => pairsIn(gap) > MOST_PAIRS)
    for (const gap of long) pairLong(partners, feature, inB[i]!, gap)
  }
  for (const gap of gapsOf(partners, b.length)) {
    for (const part of partsOf(gap)) pairBest(partners, inA, inB, part)
  }
  return rowsOf(a, b, partners)
}

/** Ranges of steps of both traces, between two pairs. */
type Gap = readonly [aFrom: number, aTo: number, bFrom: number, bTo: number]

function gapsOf(partners: Int32Array, end: number): Gap[] {
  const gaps: Gap[] = []
  let [aFrom, bFrom] = [0, 0]
  for (let at = 0; at <= partners.length; at++) {
    const bTo = at === partners.length ? end : partners[at]!
    if (bTo === -1) continue
    if (at > aFrom && bTo > bFrom) gaps.push([aFrom, at, bFrom, bTo])
    ;[aFrom, bFrom] = [at + 1, bTo + 1]
  }
  return gaps
}

const pairsIn = ([aFrom, aTo, bFrom, bTo]: Gap): number => (aTo - aFrom) * (bTo - bFrom)

/** Splits a gap that is too long. In two runs of one program, steps at similar times mostly match. */
function partsOf(gap: Gap): Gap[] {
  const [aFrom, aTo, bFrom, bTo] = gap
  const count = Math.ceil(Math.sqrt(pairsIn(gap) / MOST_PAIRS))
  const at = (from: number, to: number, part: number) => from + Math.floor(((to - from) * part) / count)
  return Array.from(
    { length: count },
    (_, i): Gap => [at(aFrom, aTo, i), at(aFrom, aTo, i + 1), at(bFrom, bTo, i), at(bFrom, bTo, i + 1)]
  )
}

/** Pairs the steps in a long gap that share a feature, unless they are few. */
function pairLong(partners: Int32Array, a: Int32Array, b: Int32Array, [aFrom, aTo, bFrom, bTo]: Gap): void {
  const runs = commonRuns(a.subarray(aFrom, aTo), b.subarray(bFrom, bTo), PASS_STEPS)
  const count = runs.reduce((sum, { length }) => sum + length, 0)
  if (count < LEAST_PAIRED * Math.min(aTo - aFrom, bTo - bFrom)) return
  for (const run of runs) {
    for (let i = 0; i < run.length; i++) partners[aFrom + run.a + i] = bFrom + run.b + i
  }
}

/** Finds the pairs in a gap whose scores have the highest sum. */
function pairBest(partners: Int32Array, inA: Features, inB: Features, [aFrom, aTo, bFrom, bTo]: Gap): void {
  const [n, m] = [aTo - aFrom, bTo - bFrom]
  const width = m + 1
  // The highest scores of the steps from (i, j) to the end: of all pairings, and of those that pair i with j.
  const best = new Int32Array((n + 1) * width)
  const paired = new Int32Array((n + 1) * width)
  for (let i = n - 1; i >= 0; i--) {
    for (let j = m - 1; j >= 0; j--) {
      const at = i * width + j
      const score = scoreOf(inA, inB, aFrom + i, bFrom + j)
      const next = at + width + 1
      const together = score === 0 ? 0 : score + Math.max(best[next]!, paired[next]! && paired[next]! + ADJACENT)
      paired[at] = together
      best[at] = Math.max(together, best[at + width]!, best[at + 1]!)
    }
  }
  let [i, j, isAdjacent] = [0, 0, false]
  while (i < n && j < m) {
    const at = i * width + j
    // The last of equal pairings is chosen, because the steps that lead to a pair are right before it.
    if (!isAdjacent && best[at] === best[at + 1]) j++
    else if (!isAdjacent && best[at] === best[at + width]) i++
    else {
      partners[aFrom + i++] = bFrom + j++
      const next = at + width + 1
      isAdjacent = paired[next] !== 0 && paired[next]! + ADJACENT > best[next]!
    }
  }
}

/** Returns the score of pairing two steps; 0 if they do not match. */
function scoreOf(inA: Features, inB: Features, i: number, j: number): number {
  const last = SCORES.length - 1
  if (inA[last]![i] !== inB[last]![j]) return 0
  for (let k = 0; k < last; k++) if (inA[k]![i] === inB[k]![j]) return SCORES[k]!
  return SCORES[last]!
}

function rowsOf(a: readonly AlignedStep[], b: readonly AlignedStep[], partners: Int32Array): AlignedRow[] {
  const rows: AlignedRow[] = []
  let j = 0
  const onlyInB = (to: number) => {
    for (; j < to; j++) rows.push({ key: `b:${b[j]!.span.id}`, a: undefined, b: b[j] })
  }
  for (const [i, step] of a.entries()) {
    const partner = partners[i]!
    if (partner !== -1) onlyInB(partner)
    rows.push({ key: step.span.id, a: step, b: partner === -1 ? undefined : b[j++] })
  }
  onlyInB(b.length)
  return rows
}

/** Returns the row with the given key, or else the row that contains the span with that id. */
export function findRow(rows: readonly AlignedRow[], key: string): AlignedRow | undefined {
  const id = key.replace(/^b:/, '')
  return (
    rows.find(row => row.key === key) ??
    rows.find(({ a }) => a?.span.id === id) ??
    rows.find(({ b }) => b?.span.id === id)
  )
}
