/**
 * Every dialect, in the order in which they are listened to: what was made for one product before what is made for all. A
 * span may speak several, and each field is taken from the first that says it.
 */
import type { Dialect, TraceNames } from './dialect.ts'
import { genAi } from './dialects/gen-ai.ts'
import { langfuse } from './dialects/langfuse.ts'
import { openInference } from './dialects/open-inference.ts'
import { openLlmetry } from './dialects/open-llmetry.ts'
import { vercelAi } from './dialects/vercel-ai.ts'

export const dialects: readonly Dialect[] = [langfuse, openInference, vercelAi, openLlmetry, genAi]

/** The lists of all dialects for one field, one after the other, each name once. */
export const namesOf = (list: (dialect: Dialect) => readonly string[] | undefined): readonly string[] => [
  ...new Set(dialects.flatMap(dialect => list(dialect) ?? []))
]

export const traceNamesOf = (list: (names: TraceNames) => readonly string[] | undefined): readonly string[] =>
  namesOf(({ trace }) => trace && list(trace))
