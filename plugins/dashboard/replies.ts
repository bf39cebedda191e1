/**
 * The answers of the dashboard's routes, as typebox schemas. Tests compare every answer with its schema
 * (test/fixtures/service/reply-check.ts), and the page takes its types from them
 * (plugins/dashboard/app/contract.ts), so this file imports nothing that browsers lack.
 */
import Type from 'typebox'
import { STEPS } from '../../lib/rollups/period.ts'
import { DATA_TYPES } from '../../lib/schema/input.ts'
import { closed, mapOf, nullable } from '../../lib/schema/object.ts'
import {
  AnyJson,
  AnyJsonObject,
  Count,
  DateTime,
  KeyDescription,
  Project,
  ScoreOutput,
  ScoreSource,
  ScoreValue,
  ShownSpanId,
  ShownTraceId,
  SpanEvent,
  spanCost,
  spanHead,
  summaryFields,
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
const body = { input: AnyJson, output: AnyJson }
/** From when on traces are counted; null: all are. */
const countedFrom = nullable(DateTime)

/** No body. */
export const NothingReply = Type.Undefined()
/** A body that is not JSON. */
export const contentReply = (type: string) => Type.String({ contentMediaType: type })
export const DoneReply = closed({ ok: Type.Literal(true) })
export const SlugReply = closed({ slug: text })

/** How far an index of words has come. */
const SearchState = {
  /** How far back the index goes; null: to the first trace. */
  backTo: nullable(DateTime),
  isFilled: flag,
  /** Writes that are not in it yet. */
  waiting: Count
}

export const ExcerptReply = closed({
  place: Type.Enum(['name', 'input', 'output']),
  /** Some of a text, in one line. */
  text,
  /** The ranges of the text that match: where each begins and ends. */
  marks: Type.Array(Type.Unsafe<[number, number]>(Type.Array(Count, { minItems: 2, maxItems: 2 })))
})

/** A list of traces. What was found by words has excerpts by the ids of traces, and says how far was searched. */
export const TracePageReply = closed({
  ...TraceList.properties,
  excerpts: Type.Optional(mapOf(ExcerptReply)),
  search: Type.Optional(closed({ reached: nullable(DateTime), ...SearchState }))
})

export const FacetsReply = closed({
  statuses: Type.Array(text),
  models: Type.Array(text),
  environments: Type.Array(text),
  names: Type.Array(text)
})

const DataType = Type.Enum([...DATA_TYPES])
/** The names of the newest scores, the most frequent first. */
export const ScoreNamesReply = Type.Array(closed({ name: text, dataType: DataType, count: Count }))

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
/** The zone whose midnights begin days, in minutes east of UTC. */
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
/** A group of traces. The key is the value that they share; null if they share having none. */
const Group = closed({ key: nullable(text), total: Total })

/** Numbers over time, of all traces together. */
export const SeriesReply = closed({ ...Covered, groups: Type.Array(closed({ ...Group.properties, ...Steps })) })
/** Groups of traces: `starts` is empty. */
export const TotalsReply = closed({ ...Covered, groups: Type.Array(Group) })

/** Totals where groups are asked for. */
export const SeriesOrTotalsReply = Type.Union([SeriesReply, TotalsReply])

const valueCounts = Type.Array(closed({ value: text, traces: Count }))
export const FacetCountsReply = closed({
  statuses: valueCounts,
  models: valueCounts,
  environments: valueCounts,
  names: valueCounts,
  countedFrom
})

/** The whole trace: that of the API. */

const Unchanged = closed({ unchanged: Type.Literal(true) })
/** A score, with its author if a member gave it on the dashboard. `own`: the visitor is the author. */
const OutlineScore = closed({ ...ScoreOutput.properties, author: nullable(text), own: flag })
/** A span without its texts, but with their sizes in bytes. */
const OutlineSpan = closed({ ...spanHead, ...spanCost, ...size, attributesBytes: Count, eventCount: Count })
const OutlineTrace = closed({ ...summaryFields, ...traceFoot, ...size })
/** A trace without the texts of its spans; or nothing new, where the page has this version. */
export const WholeOutlineReply = closed({
  version: text,
  trace: OutlineTrace,
  spans: Type.Array(OutlineSpan),
  scores: Type.Array(OutlineScore)
})
export const OutlineReply = Type.Union([WholeOutlineReply, Unchanged])
/** The input, the output and the metadata of the trace itself. */
export const TraceBodyReply = closed({ ...body, metadata: AnyJsonObject })
/** All texts of a trace. */
export const TraceTextsReply = closed({
  trace: closed(body),
  spans: Type.Array(closed({ id: ShownSpanId, ...body, attributes: AnyJsonObject, events: Type.Array(SpanEvent) }))
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
  /** Counts by step of the most frequent categories, or of true and false. */
  shares: mapOf(scoreCounts),
  /** Counts by step of the values that are in no share. */
  other: scoreCounts,
  histogram: Type.Array(closed({ from: Type.Number(), to: Type.Number(), count: Count })),
  sources: closed({ api: Count, annotation: Count, eval: Count })
})
export const ScoreSeriesReply = closed({
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
  traceId: ShownTraceId,
  spanId: nullable(ShownSpanId),
  values: closed({
    api: Type.Optional(ScoreValue),
    annotation: Type.Optional(ScoreValue),
    eval: Type.Optional(ScoreValue)
  })
})
export const ScoreDisagreementReply = closed({
  pairs: Type.Array(ScorePair),
  differences: Type.Array(ScoreDifference),
  newest,
  traces: Type.Array(TraceSummary)
})
export const ScoredTracesReply = closed({
  scores: Type.Array(ScoreOutput),
  traces: Type.Array(TraceSummary),
  nextCursor: cursor
})

/** Sums of the traces of a session or a user. */
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
export const SessionPageReply = closed({ groups: Type.Array(GroupSums), nextCursor: cursor })
export const UserPageReply = closed({ ...SessionPageReply.properties, countedFrom })
export const UserSumsReply = closed({ ...GroupSums.properties, sessions: Type.Array(GroupSums), countedFrom })
export const SessionSumsReply = closed({
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
export const SessionTracesReply = closed({ traces: Type.Array(TraceSummary), nextCursor: cursor })

export const RoleReply = Type.Enum([...ROLES])

const { keyScopes: _, ...described } = Project.properties
/** A project and, where its traces are searched by words, how far the index has come. */
export const ProjectPageReply = closed({ ...described, role: RoleReply, search: nullable(closed(SearchState)) })

export const ViewReply = closed({ id: Count, name: ViewName, page: ViewPage, query: ViewQuery, shared: flag })
export const ViewsReply = closed({ views: Type.Array(ViewReply) })
export const OneViewReply = closed({ view: ViewReply })

const issued = {
  keyId: text,
  projectId: text,
  label: text,
  scopes: KeyDescription.properties.scopes,
  environment: nullable(text),
  expiresAt: nullable(DateTime)
}
/** A key that was just made; `key` is the whole of it. */
export const IssuedKeyReply = closed({ key: text, ...issued })
/** Everything about a key but its secret. */
export const KeyReply = closed({
  ...issued,
  project: text,
  state: Type.Enum(['active', 'expired', 'revoked']),
  createdAt: DateTime,
  lastUsedAt: nullable(DateTime),
  revokedAt: nullable(DateTime)
})
export const KeysReply = closed({ keys: Type.Array(KeyReply) })

export const MemberReply = closed({
  id: Count,
  email: text,
  name: text,
  role: RoleReply,
  /** Whether a provider of OpenID Connect gave the role. */
  byClaim: flag,
  createdAt: DateTime,
  /** When a session of theirs was last used; null if there is none. */
  seenAt: nullable(DateTime),
  /** Whether it is the visitor. */
  own: flag
})
export const MembersReply = closed({ members: Type.Array(MemberReply) })
/** Without the member where another owner has just removed them. */
export const OneMemberReply = closed({ member: Type.Optional(MemberReply) })
export const InvitationReply = closed({ ...OneMemberReply.properties, link: text })
export const SignInLinkReply = closed({ link: text })

const ProjectSeen = closed({ slug: text, name: text, role: RoleReply, search: flag })
/** The user who is signed in, the projects that they see, and the ways to sign in. */
export const SessionReply = closed({
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
/** A browser in which the user is signed in. */
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
export const SessionsReply = closed({ sessions: Type.Array(SignedIn) })
