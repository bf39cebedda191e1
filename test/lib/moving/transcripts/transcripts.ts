/** Reads transcripts that real programs wrote, and lines that a test creates. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ClaudeCodeTranscript } from '../../../../lib/moving/transcripts/claude-code.ts'
import { CodexTranscript } from '../../../../lib/moving/transcripts/codex.ts'
import type { AgentStep, Transcript } from '../../../../lib/moving/transcripts/transcript.ts'

const FOLDER = fileURLToPath(new URL('../../../../../test/fixtures/transcripts/', import.meta.url))

export type TestLine = Readonly<Record<string, unknown>>

export interface RealTranscript {
  readonly name: string
  readonly lines: readonly TestLine[]
  readonly open: () => Transcript
}

export const REAL_TRANSCRIPTS: readonly RealTranscript[] = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('.jsonl'))
  .sort()
  .map(name => ({
    name,
    lines: readFileSync(join(FOLDER, name), 'utf8')
      .trim()
      .split('\n')
      .map(line => JSON.parse(line)),
    open: () => (name.startsWith('codex') ? new CodexTranscript() : new ClaudeCodeTranscript())
  }))

/** Returns the steps of lines, as if no line had been added for `quietMs`. */
export function stepsOf(transcript: Transcript, lines: readonly TestLine[], quietMs = 0): AgentStep[] {
  return [...lines.flatMap(line => transcript.read(line)), ...transcript.settle(quietMs)]
}

/** Describes each step by its parent, name and status. */
export function outlineOf(steps: readonly AgentStep[]): string[] {
  const names = new Map(steps.map(({ spanId, name }) => [spanId, name.replace(/^\w+ /, '')]))
  return steps.map(({ parentSpanId, name, status }) => {
    const parent = parentSpanId === undefined ? 'root' : (names.get(parentSpanId) ?? 'unknown')
    return `${parent} > ${name} ${status}`
  })
}
