/**
 * What the routes of the dashboard answer, as typebox schemas. Each answer of each test is held against them
 * (test/fixtures/service/openapi-check.ts), and the page has its types from them (plugins/dashboard/app/contract.ts). So
 * nothing is imported here that browsers do not have.
 */
import Type from 'typebox'
import { STEPS } from '../../lib/rollups/period.ts'
import { DATA_TYPES } from '../../lib/schema/input.ts'
import { closed, mapOf, nullable } from '../../lib/schema/object.ts'
import {
  Count,
  DateTime,
  Json,
  JsonObject,
  KeyDescription,
  Project,
  ScoreOutput,
  ScoreSource,
  ScoreValue,
  SpanEvent,
  SpanId,
  spanCost,
  spanHead,
  summaryFields,
  TraceDetail,
  TraceId,
  TraceList,
  TraceSummary,
  traceFoot
} from '../../lib/schema/output.ts'
import { ROLES } from '../../lib/schema/roles.ts'
import { ViewName, ViewPage, ViewQuery } from '../../lib/schema/saved-view.ts'

const text = Type.String()
const flag = Type.Boolean()
const cursor = nullable(text)
const cost = nullable(Type.Number({ minimum: 0 }))
const size = { inputBytes: Count, outputBytes: Count }
const body = { input: Json, output: Json }
/** From when on traces are counted; null: all are. */
const countedFrom = nullable(DateTime)

/** No body. */
export const Nothing = Type.Undefined()
/** A body that is not JSON. */
export const content = (type: string) => Type.String({ contentMediaType: type })
export const Done = closed({ ok: Type.Literal(true) })
export const Slug = closed({ slug: text })

/** How far an index of words has come. */
const SearchState = {
  /** How far back the index goes; null: to the first trace. */
  backTo: nullable(DateTime),
  isFilled: flag,
  /** Writes that are not in it yet. */
  waiting: Count
}

export const Excerpt = closed({
  place: Type.Enum(['name', 'input', 'output']),
  /** Some of a text, in one line. */
  text,
  /** Where in it words were found. */
  marks: Type.Array(Type.Unsafe<[number, number]>(Type.Array(Count, { minItems: 2, maxItems: 2 })))
})

/** A list of traces. What was found by words has excerpts by the ids of traces, and says how far was searched. */
export const TracePage = closed({
  ...TraceList.properties,
  excerpts: Type.Optional(mapOf(Excerpt)),
  search: Type.Optional(closed({ reached: nullable(DateTime), ...SearchState }))
})

export const Facets = closed({
  statuses: Type.Array(text),
  models: Type.Array(text),
  environments: Type.Array(text),
  names: Type.Array(text)
})

const DataType = Type.Enum([...DATA_TYPES])
/** The names of the newest scores, the most frequent first. */
export const ScoreNames = Type.Array(closed({ name: text, dataType: DataType, count: Count }))

const Step = Type.Enum(Object.keys(STEPS) as (keyof typeof STEPS)[])
const quantile = nullable(Type.Number({ minimum: 0 }))

/** Sums of traces that have ended. Latencies are in ms; null: no trace. `priced` is how many have a cost. */
const Total = closed({
  traces: Count,
  errors: Count,
  inputTokens: Count,
  outputTokens: Count,
  costUsd: Type.Number(),
  priced: Count,
  p50: quantile,
  p90: quantile,
  p95: quantile,
  p99: quantile
})
const counts = Type.Array(Count)
const quantiles = Type.Array(quantile)
/** The same by steps. */
const Steps = {
  traces: counts,
  errors: counts,
  inputTokens: counts,
  outputTokens: counts,
  costUsd: Type.Array(Type.Number()),
  priced: counts,
  p50: quantiles,
  p90: quantiles,
  p95: quantiles,
  p99: quantiles
}
/** Of the zone whose midnights begin days: minutes east of UTC. */
const offset = Type.Integer()
/** The end of a step, which may be after the year 9999, or before the year 1. */
const Bound = Type.String({ pattern: '^(\\d{4}|[+-]\\d{6})-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' })
const Covered = {
  from: Bound,
  to: Bound,
  step: Step,
  offset,
  countedFrom,
  running: Count,
  starts: Type.Array(Bound),
  /** How many groups are together in the last one, since they have no room by themselves. */
  other: Count,
  /** The time before, if it was asked for. */
  before: nullable(Total)
}
/** What the traces of a group have in common; null where it is that they have none. */
const Group = closed({ key: nullable(text), total: Total })

/** Numbers over time, of all traces together. */
export const Series = closed({ ...Covered, groups: Type.Array(closed({ ...Group.properties, ...Steps })) })
/** Groups of traces: `starts` is empty. */
export const Totals = closed({ ...Covered, groups: Type.Array(Group) })

/** Totals where groups are asked for. */
export const SeriesOrTotals = Type.Union([Series, Totals])

const valueCounts = Type.Array(closed({ value: text, traces: Count }))
export const FacetCounts = closed({
  statuses: valueCounts,
  models: valueCounts,
  environments: valueCounts,
  names: valueCounts,
  countedFrom
})

/** The whole trace: that of the API. */
export { TraceDetail }

const Unchanged = closed({ unchanged: Type.Literal(true) })
/** Who gave a score on the dashboard, and whether that is the visitor. */
const OutlineScore = closed({ ...ScoreOutput.properties, author: nullable(text), own: flag })
/** A span without its texts, but with their sizes in bytes. */
const OutlineSpan = closed({ ...spanHead, ...spanCost, ...size, attributesBytes: Count, eventCount: Count })
const OutlineTrace = closed({ ...summaryFields, ...traceFoot, ...size })
/** A trace without the texts of its spans; or nothing new, where the page has this version. */
export const WholeOutline = closed({
  version: text,
  trace: OutlineTrace,
  spans: Type.Array(OutlineSpan),
  scores: Type.Array(OutlineScore)
})
export const Outline = Type.Union([WholeOutline, Unchanged])
/** What the trace itself was given and gave. */
export const TraceBody = closed({ ...body, metadata: JsonObject })
/** All texts of a trace. */
export const TraceTexts = closed({
  trace: closed(body),
  spans: Type.Array(closed({ id: SpanId, ...body, attributes: JsonObject, events: Type.Array(SpanEvent) }))
})

const perStep = Type.Array(nullable(Type.Number()))
const scoreCounts = Type.Array(Count)
/** Set if there may be more scores: so many were counted, the newest. */
const newest = nullable(Count)
const ScoreOverTime = closed({
  name: text,
  dataType: DataType,
  count: Count,
  average: nullable(Type.Number()),
  /** By step; null where there are none. Of booleans the share of those that are true, of categories null. */
  mean: perStep,
  /** Of categories and booleans: counts by step of the most frequent values. */
  shares: mapOf(scoreCounts),
  /** Counts by step of the values that are in no share. */
  other: scoreCounts,
  histogram: Type.Array(closed({ from: Type.Number(), to: Type.Number(), count: Count })),
  sources: closed({ api: Count, annotation: Count, eval: Count })
})
export const ScoreSeries = closed({
  from: DateTime,
  to: DateTime,
  step: Step,
  offset,
  starts: Type.Array(Bound),
  names: Type.Array(ScoreOverTime),
  newest
})

const ScorePair = closed({
  a: ScoreSource,
  b: ScoreSource,
  dataType: DataType,
  both: Count,
  differing: Count,
  meanDifference: nullable(Type.Number()),
  meanDistance: nullable(Type.Number())
})
const ScoreDifference = closed({
  traceId: TraceId,
  spanId: nullable(SpanId),
  values: closed({
    api: Type.Optional(ScoreValue),
    annotation: Type.Optional(ScoreValue),
    eval: Type.Optional(ScoreValue)
  })
})
export const ScoreDisagreement = closed({
  pairs: Type.Array(ScorePair),
  differences: Type.Array(ScoreDifference),
  newest,
  traces: Type.Array(TraceSummary)
})
export const ScoredTraces = closed({
  scores: Type.Array(ScoreOutput),
  traces: Type.Array(TraceSummary),
  nextCursor: cursor
})

/** What the traces of a session or a user add up to. */
const GroupSums = closed({
  id: text,
  traces: Count,
  /** Whether there are more traces than were added up. */
  isMore: flag,
  errors: Count,
  inputTokens: Count,
  outputTokens: Count,
  costUsd: cost,
  firstAt: DateTime,
  lastAt: DateTime
})
export const SessionPage = closed({ groups: Type.Array(GroupSums), nextCursor: cursor })
export const UserPage = closed({ ...SessionPage.properties, countedFrom })
export const UserSums = closed({ ...GroupSums.properties, sessions: Type.Array(GroupSums), countedFrom })
export const SessionSums = closed({
  id: text,
  traces: Count,
  running: Count,
  errors: Count,
  inputTokens: Count,
  outputTokens: Count,
  costUsd: cost,
  /** How long its traces took, together. */
  durationMs: Count,
  firstAt: DateTime,
  lastAt: DateTime,
  users: Type.Array(text),
  /** Set if the session has more traces than were added up: so many were, the newest. */
  newest: nullable(Count)
})
/** The traces of a session, the oldest first. */
export const SessionTraces = closed({ traces: Type.Array(TraceSummary), nextCursor: cursor })

export const Role = Type.Enum([...ROLES])

const { keyScopes: _, ...described } = Project.properties
/** A project and, where its traces are searched by words, how far the index has come. */
export const ProjectPage = closed({ ...described, role: Role, search: nullable(closed(SearchState)) })

export const View = closed({ id: Count, name: ViewName, page: ViewPage, query: ViewQuery, shared: flag })
export const Views = closed({ views: Type.Array(View) })
export const OneView = closed({ view: View })

const issued = {
  keyId: text,
  projectId: text,
  label: text,
  scopes: KeyDescription.properties.scopes,
  environment: nullable(text),
  expiresAt: nullable(DateTime)
}
/** A key that was just made; `key` is the whole of it. */
export const IssuedKey = closed({ key: text, ...issued })
/** Everything about a key but its secret. */
export const Key = closed({
  ...issued,
  project: text,
  state: Type.Enum(['active', 'expired', 'revoked']),
  createdAt: DateTime,
  lastUsedAt: nullable(DateTime),
  revokedAt: nullable(DateTime)
})
export const Keys = closed({ keys: Type.Array(Key) })

export const Member = closed({
  id: Count,
  email: text,
  name: text,
  role: Role,
  /** Whether a provider of OpenID Connect gave the role. */
  byClaim: flag,
  createdAt: DateTime,
  /** When a session of theirs was last used; null if there is none. */
  seenAt: nullable(DateTime),
  /** Whether it is the visitor. */
  own: flag
})
export const Members = closed({ members: Type.Array(Member) })
/** Without the member where another owner has just removed them. */
export const OneMember = closed({ member: Type.Optional(Member) })
export const Invitation = closed({ ...OneMember.properties, link: text })
export const SignInLink = closed({ link: text })

const ProjectSeen = closed({ slug: text, name: text, role: Role, search: flag })
/** Who is signed in, what they see, and by which ways people come in. */
export const Session = closed({
  user: nullable(closed({ id: Count, email: text, name: text, hasPassword: flag })),
  projects: Type.Array(ProjectSeen),
  signIn: closed({
    password: flag,
    oidc: flag,
    /** Nothing else but links. */
    onlyOidc: flag,
    proxy: flag,
    signOutUrl: nullable(text)
  })
})
/** Where somebody is signed in. */
const SignedIn = closed({
  id: text,
  createdAt: DateTime,
  seenAt: DateTime,
  expiresAt: DateTime,
  agent: text,
  means: Type.Enum(['link', 'password', 'oidc']),
  /** Whether this is the browser that asks. */
  current: flag
})
export const Sessions = closed({ sessions: Type.Array(SignedIn) })
