/** Outlines of the items of each list. */
import type { Cuts, Item, ListOutline } from './list-view.ts'

const READ_TRACE = 'To read a run, call get_trace with its id.'
const cutNames = (names: readonly string[], { name }: Cuts): readonly string[] | undefined =>
  names.length === 0 ? undefined : names.map(name)
const named = (text: string | null, { name }: Cuts): string | undefined => (text === null ? undefined : name(text))
const positive = (number: unknown): unknown => (Number(number) > 0 ? number : undefined)

function traceOf(trace: Item, cuts: Cuts): Item {
  const { id, name, status, environment, startedAt, durationMs, spanCount, errorCount, model } = trace
  const scores = Object.entries(trace.scores as Record<string, Item>)
  return {
    id,
    name: cuts.name(name),
    status,
    environment,
    startedAt,
    durationMs,
    spanCount,
    errorCount: positive(errorCount),
    model: named(model, cuts),
    sessionId: trace.sessionId,
    userId: trace.userId,
    tags: cutNames(trace.tags, cuts),
    totalTokens: positive(trace.usage.totalTokens),
    costUsd: trace.costUsd,
    scores:
      scores.length === 0
        ? undefined
        : Object.fromEntries(
            scores.map(([name, { value }]) => [name, typeof value === 'string' ? cuts.name(value) : value])
          )
  }
}

const tracesOutline: ListOutline = {
  name: 'traces',
  member: 'traces',
  usualLimit: () => 20,
  outline: traceOf,
  about:
    `${READ_TRACE} Only \`detail\` "full" includes provider, endedAt, ingestedAt, input and output tokens, ` +
    'and size in bytes.',
  ifEmpty: 'No traces match.'
}

const searchOutline: ListOutline = {
  name: 'search',
  member: 'traces',
  usualLimit: () => 12,
  outline(trace, cuts) {
    const { firstError, inputPreview, outputPreview, excerpt, moreExcerpts } = trace
    const cut = (text: string | null) => (text === null ? undefined : cuts.text(text))
    return {
      ...traceOf(trace, cuts),
      firstError: firstError === null ? undefined : errorOf(firstError, cuts),
      input: cut(inputPreview),
      output: cut(outputPreview),
      excerpt: excerpt === null ? undefined : excerptOf(excerpt, cuts),
      moreExcerpts: moreExcerpts.length === 0 ? undefined : moreExcerpts.map((each: Item) => excerptOf(each, cuts))
    }
  },
  about:
    `${READ_TRACE} Only \`detail\` "full" includes provider, endedAt, ingestedAt, input and output tokens, size in ` +
    'bytes, and score ids.'
}

function excerptOf({ place, spanId, role, text }: Item, cuts: Cuts): Item {
  return {
    place,
    ...(spanId !== null && { spanId }),
    ...(role !== null && { role: cuts.name(role) }),
    text: cuts.text(text)
  }
}

function errorOf({ spanId, step, type, message }: Item, cuts: Cuts): Item {
  return {
    spanId,
    step: cuts.name(step),
    ...(type !== null && { type: cuts.name(type) }),
    ...(message !== null && { message: cuts.text(message) })
  }
}

const spansOutline: ListOutline = {
  name: 'spans',
  member: 'spans',
  usualLimit: ({ texts }) => (texts === true ? 5 : 15),
  outline(span, cuts) {
    const { id, traceId, traceName, name, kind, status, environment, startedAt, durationMs, model, error } = span
    return {
      id,
      traceId,
      traceName: cuts.name(traceName),
      name: cuts.name(name),
      kind,
      status,
      environment,
      startedAt,
      durationMs,
      model: named(model, cuts),
      totalTokens: positive(span.usage?.totalTokens),
      costUsd: span.costUsd,
      error: error && {
        ...(error.type !== null && { type: cuts.name(error.type) }),
        ...(error.message !== null && { message: cuts.text(error.message) })
      },
      inputBytes: positive(span.inputBytes),
      outputBytes: positive(span.outputBytes),
      attributesBytes: positive(span.attributesBytes),
      eventCount: positive(span.eventCount),
      input: cuts.value(span.input),
      output: cuts.value(span.output),
      attributes: cuts.value(span.attributes),
      events: cuts.value(span.events)
    }
  },
  about:
    'To read a step\'s full texts, call get_trace with its traceId and spanIds. Only `detail` "full" includes ' +
    'parentSpanId, provider, endedAt, and input and output tokens.'
}

/** Number of steps whose failures an outline counts. */
const OUTLINED_STEPS = 12

const errorsOutline: ListOutline = {
  name: 'errors',
  member: 'errors',
  usualLimit: () => 20,
  outline({ name, kind, type, message, count, passedOn, traces, firstSeen, lastSeen, example }, cuts) {
    const { traceId, spanId } = example
    return {
      name: cuts.name(name),
      kind,
      type: named(type, cuts),
      message: message === null ? undefined : cuts.text(message),
      count,
      passedOn: positive(passedOn),
      traces,
      firstSeen,
      lastSeen,
      example: { traceId, ...(spanId !== null && { spanId }) }
    }
  },
  others: ({ steps }, cuts) => ({
    steps: (steps as readonly Item[]).slice(0, OUTLINED_STEPS).map(({ passedOn, name, ...step }) => ({
      name: cuts.name(name),
      ...step,
      ...(passedOn > 0 && { passedOn })
    }))
  }),
  about:
    'To read a failure, call get_trace with the example\'s traceId, and its spanId in spanIds. Only `detail` "full" ' +
    "includes the examples' full messages."
}

const sessionsOutline: ListOutline = {
  name: 'sessions',
  member: 'sessions',
  usualLimit: () => 20,
  outline: ({ partial, errorCount, ...session }) => ({
    ...session,
    errorCount: positive(errorCount),
    partial: partial || undefined
  }),
  about: "To list a session's traces, call search_traces with sessionId."
}

const usersOutline: ListOutline = {
  name: 'users',
  member: 'users',
  usualLimit: () => 20,
  outline: ({ errorCount, ...user }) => ({ ...user, errorCount: positive(errorCount) }),
  about: "To list a user's sessions, call list_sessions with userId; for the traces, search_traces with userId."
}

const changesOutline: ListOutline = {
  ...tracesOutline,
  name: 'changes',
  about: `${READ_TRACE} If caughtUp is false, call again with \`after\` set to nextCursor.`,
  ifEmpty: 'Nothing has been written since. Call again later with `after` set to nextCursor.'
}

const scoresOutline: ListOutline = {
  name: 'scores',
  member: 'scores',
  usualLimit: () => 20,
  outline: ({ comment, name, ...score }, cuts) => ({
    ...score,
    name: cuts.name(name),
    comment: comment == null ? undefined : cuts.text(comment)
  }),
  about: "To read a trace's scores with their full comments, call get_trace_scores.",
  ifEmpty: 'No scores match. Summaries from search_traces show which score names exist.'
}

export const OUTLINES = {
  traces: tracesOutline,
  search: searchOutline,
  spans: spansOutline,
  errors: errorsOutline,
  sessions: sessionsOutline,
  users: usersOutline,
  changes: changesOutline,
  scores: scoresOutline
} as const
