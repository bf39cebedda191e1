/**
 * Responses of the dashboard's routes as typebox schemas. Tests compare every response with its schema
 * (test/fixtures/service/reply-check.ts), and the page takes its types from the schemas
 * (plugins/dashboard/app/contract.ts), so this file imports nothing that is unavailable in browsers.
 */
import Type, { type TArray, type TSchema } from 'typebox'
import { STEPS } from '../../lib/rollups/period.ts'
import { FirstError, FoundTrace, TraceSearchPage } from '../../lib/schema/history/search.ts'
import { SpanList } from '../../lib/schema/history/span-list.ts'
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
  TraceDetail,
  TraceSummary,
  traceFoot
} from '../../lib/schema/output.ts'
import { ROLES } from '../../lib/schema/roles.ts'
import { ViewName, ViewPage, ViewQuery } from '../../lib/schema/saved-view.ts'
import { ScoreDefinition } from '../../lib/schema/score-definition.ts'

const text = Type.String()
const flag = Type.Boolean()
const cursor = nullable(text)
const cost = nullable(Type.Number({ minimum: 0 }))
const size = { inputBytes: Count, outputBytes: Count }
const body = { input: AnyJson, output: AnyJson }
/** Time from which traces are counted; null if all traces are counted. */
const countedFrom = nullable(DateTime)

export { TracesDeleted } from '../../lib/schema/history/deletion.ts'

export const NothingReply = Type.Undefined()
/** Returns the schema of a body that is not JSON. */
export const contentReply = (type: string) => Type.String({ contentMediaType: type })
export const DoneReply = closed({ ok: Type.Literal(true) })
export const SlugReply = closed({ slug: text })

/** Progress of the search index. */
const SearchState = {
  /** Start of the indexed period; null if all traces are indexed. */
  backTo: nullable(DateTime),
  isFilled: flag,
  /** Number of writes not yet indexed. */
  waiting: Count,
  /** Number of traces whose texts are only partly indexed. */
  partlyIndexed: Count
}

/** Facts about a trace that its summary lacks (lib/store/finding/row-details.ts). */
const RowDetailsReply = closed({
  leftOut: Count,
  steps: nullable(
    closed({
      inputTokens: nullable(Count),
      outputTokens: nullable(Count),
      totalTokens: nullable(Count),
      costUsd: cost,
      models: Type.Array(text)
    })
  )
})

/** A page of the API's search, with the cursor of the page before it, and details by trace id. */
export const TracePageReply = closed({
  ...TraceSearchPage.properties,
  prevCursor: cursor,
  details: mapOf(RowDetailsReply),
  /** The requested values of metadata, by trace id and by name. */
  metadata: mapOf(mapOf(text))
})

/** A page that contains only summaries. */
export const TraceSummariesReply = closed({ traces: Type.Array(TraceSummary) })
/** The number of matching traces, counted up to a limit. */
export const MatchCountReply = closed({ traces: Count, isMore: flag })
/**
 * A page of matching traces as lines of a CSV file, without line ends and without scores. `scores` are the newest value
 * of each name.
 */
export const MatchTableReply = closed({
  head: text,
  rows: Type.Array(closed({ cells: text, scores: Type.Record(text, Type.Union([Type.Number(), text, flag])) })),
  nextCursor: cursor
})
/** Values of a filter, most frequent first. `newest`: number of newest traces counted, if there are more. */
export const SuggestionsReply = closed({
  values: Type.Array(closed({ value: text, traces: Count })),
  newest: nullable(Count)
})

const facetsOf = <T extends TSchema>(each: T) => ({ statuses: each, models: each, environments: each, names: each })
export const FacetsReply = closed(facetsOf(Type.Array(text)))

const DataType = Type.Enum([...DATA_TYPES])
/** Names of the newest scores, most frequent first, each with its categories, most frequent first. */
export const ScoreNamesReply = Type.Array(
  closed({ name: text, dataType: DataType, count: Count, categories: Type.Array(text) })
)

const Step = Type.Enum(Object.keys(STEPS) as (keyof typeof STEPS)[])
const quantile = nullable(Type.Number({ minimum: 0 }))

/** Sums over ended traces. Latencies are in ms, and null if there are no traces. `priced` counts traces with a cost. */
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
/** Sums per step. */
const Steps = Object.fromEntries(Object.entries(Total.properties).map(([name, each]) => [name, Type.Array(each)])) as {
  [Name in keyof typeof Total.properties]: TArray<(typeof Total.properties)[Name]>
}
/** Time zone offset in minutes east of UTC. Days start at midnight in this zone. */
const offset = Type.Integer()
/** Boundary of a step. May fall after the year 9999 or before the year 1. */
const Bound = Type.String({ pattern: '^(\\d{4}|[+-]\\d{6})-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' })
const Covered = {
  from: Bound,
  to: Bound,
  step: Step,
  offset,
  countedFrom,
  running: Count,
  starts: Type.Array(Bound),
  /** Whether percentiles are approximate. */
  approximate: flag
}
/** Sums per step over all traces. */
export const SeriesReply = closed({
  ...Covered,
  groups: Type.Array(closed({ key: Type.Null(), total: Total, ...Steps })),
  /** Totals of the preceding period, if requested. */
  before: nullable(Total)
})

/**
 * Label of a group of traces or steps. The key is the value they share; null if they have none, and for the group of
 * all others.
 */
const label = { key: nullable(text), kind: nullable(text), isOther: flag }
/**
 * Groups of traces or steps, in total and per step of time. For groups of steps, numbers of traces are numbers of
 * steps.
 */
export const SplitReply = closed({
  ...Covered,
  by: text,
  /** Why the sums are unknown: there are no stored sums, or they do not support the filters. */
  missing: nullable(Type.Enum(['sums', 'filters'])),
  /** `before` is the total of the preceding period; null if it was not requested or is not known. */
  groups: Type.Array(closed({ ...label, total: Total, before: nullable(Total) })),
  /** The groups that rank first by any of their numbers, and the group of all others. */
  lines: Type.Array(closed({ ...label, ...Steps })),
  /** Number of groups combined in the group of all others. */
  others: Count
})

/** Groups if `by` is given, otherwise a series. */
export const SeriesOrSplitReply = Type.Union([SeriesReply, SplitReply])

const valueCounts = Type.Array(closed({ value: text, traces: Count }))
export const FacetCountsReply = closed({ ...facetsOf(valueCounts), countedFrom })

const scoreSide = closed({
  count: Count,
  /** Mean of numeric values, or the share of true; null for categories. */
  average: nullable(Type.Number()),
  /** Standard deviation of the values whose mean is `average`. */
  deviation: nullable(Type.Number())
})
/** Numbers of scores in the first and second group. */
const pairOfCounts = { a: Count, b: Count }
const ComparedScore = closed({
  name: text,
  dataType: DataType,
  a: scoreSide,
  b: scoreSide,
  /** Distribution of numeric values. */
  bars: Type.Array(closed({ from: Type.Number(), to: Type.Number(), ...pairOfCounts })),
  /** The most frequent categories, or true and false. */
  values: Type.Array(closed({ value: text, ...pairOfCounts }))
})
const groupSide = closed({ total: Total, ...Steps, examples: Type.Array(FoundTrace) })
/** Two groups of traces in the same period. */
export const GroupPairReply = closed({
  from: Bound,
  to: Bound,
  step: Step,
  offset,
  starts: Type.Array(Bound),
  /** Start of the traces that were counted, if the period has too many traces; otherwise null. */
  since: nullable(DateTime),
  a: groupSide,
  b: groupSide,
  scores: Type.Array(ComparedScore)
})

/** Failures of one step with one type of error and one pattern of messages. */
const FailureGroup = closed({
  name: text,
  /** Kind of the failed step; `trace` for traces that failed without a failed step. */
  kind: text,
  type: nullable(text),
  pattern: nullable(text),
  count: Count,
  /** Number of failures whose step has a failed child. */
  passedOn: Count,
  traces: Count,
  /** Number of failures per step of time. */
  steps: Type.Array(Count),
  /** Number of failures in the preceding period. */
  before: Count,
  /** First and last failure of both periods. */
  firstAt: DateTime,
  lastAt: DateTime,
  /** The last failure. */
  example: closed({ traceId: ShownTraceId, spanId: nullable(ShownSpanId), message: nullable(text) })
})
/** A group without failures in the period. */
const EarlierFailures = closed({
  name: text,
  kind: text,
  type: nullable(text),
  pattern: nullable(text),
  /** Number of failures in the preceding period. */
  before: Count,
  firstAt: DateTime
})
export const FailuresReply = closed({
  from: Bound,
  to: Bound,
  step: Step,
  offset,
  starts: Type.Array(Bound),
  groups: Type.Array(FailureGroup),
  /** Groups that this part of the list found only before the period. */
  earlier: Type.Array(EarlierFailures),
  /**
   * Numbers of groups that are not listed because the list is full, and of their failures, without failures that steps
   * passed on from a child.
   */
  others: Count,
  otherFailures: Count,
  /** Start of the last trace examined, if both periods have older traces; otherwise null. */
  reached: nullable(DateTime),
  nextCursor: cursor
})

export const StepsReply = SpanList

const Unchanged = closed({ unchanged: Type.Literal(true) })
/** A score, with its author if a member gave it on the dashboard. `own` is true if the visitor is the author. */
const OutlineScore = closed({ ...ScoreOutput.properties, author: nullable(text), own: flag })
/** How a span's cost was computed; null if the sender reported the cost, or if the span has no cost. */
const computedCost = nullable(closed({ model: text, prices: text }))
/** Tokens that are part of a model call's input and output tokens; null if not reported. */
const tokenDetails = nullable(
  closed({ cacheRead: nullable(Count), cacheWrite: nullable(Count), reasoning: nullable(Count) })
)
/**
 * A span with the sizes of its values in bytes instead of the values. Spans of a project have the same input if their
 * sizes and digests are equal. The digest is null if the input is absent or longer than 4 KiB.
 */
const OutlineSpan = closed({
  computedCost,
  tokenDetails,
  ...spanHead,
  ...spanCost,
  ...size,
  attributesBytes: Count,
  eventCount: Count,
  inputDigest: nullable(text)
})
const OutlineTrace = closed({ ...summaryFields, ...traceFoot, ...size })
/** A trace without its spans' values. OutlineReply is `unchanged` if the page already has the current version. */
export const WholeOutlineReply = closed({
  version: text,
  trace: OutlineTrace,
  spans: Type.Array(OutlineSpan),
  scores: Type.Array(OutlineScore),
  /** Id of the page's last span if more spans follow. */
  nextAfter: nullable(ShownSpanId)
})
export const OutlineReply = Type.Union([WholeOutlineReply, Unchanged])
/** Input, output and metadata of the trace itself. */
export const TraceBodyReply = closed({ ...body, metadata: AnyJsonObject })
/** Input, output, attributes and events of a trace and its spans. */
export const TraceTextsReply = closed({
  trace: closed(body),
  spans: Type.Array(closed({ id: ShownSpanId, ...body, attributes: AnyJsonObject, events: Type.Array(SpanEvent) }))
})
/**
 * Previews of spans as text. `text` says what the span did, `prompt` is the user's message that a model call answers,
 * and `error` says why the span failed. A field is empty if the span has no such text.
 */
export const PreviewsReply = closed({
  previews: Type.Array(closed({ id: ShownSpanId, text, prompt: text, error: text }))
})

const perStep = Type.Array(nullable(Type.Number()))
const scoreCounts = Type.Array(Count)
/** Number of newest scores that were counted, if more scores may exist; otherwise null. */
const newest = nullable(Count)
const ScoreOverTime = closed({
  name: text,
  dataType: DataType,
  count: Count,
  average: nullable(Type.Number()),
  /** Mean per step; null for steps without scores and for categories. For booleans, the share of true. */
  mean: perStep,
  /** Number of scores per step, for the most frequent categories or for true and false. */
  shares: mapOf(scoreCounts),
  /** Number of scores per step with any other value. */
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

/** Sums over the traces of a session or a user. */
const GroupSums = closed({
  id: text,
  traces: Count,
  /** Whether more traces exist than the sums include. */
  isMore: flag,
  errors: Count,
  inputTokens: Count,
  outputTokens: Count,
  costUsd: cost,
  firstAt: DateTime,
  lastAt: DateTime
})
const SessionRow = closed({
  ...GroupSums.properties,
  /** The beginning of the session's first input. */
  question: nullable(text),
  users: Type.Array(text),
  /** Sum of the durations of the session's traces. */
  durationMs: Count,
  /** The most frequent scores. `value` is the most frequent category. */
  scores: Type.Array(
    closed({ name: text, dataType: DataType, count: Count, average: nullable(Type.Number()), value: nullable(text) })
  )
})
/** Start of the oldest trace that was summed, if a sorted list omits older traces in the period. */
const since = nullable(DateTime)
export const SessionPageReply = closed({ groups: Type.Array(SessionRow), nextCursor: cursor, since })
export const UserPageReply = closed({ groups: Type.Array(GroupSums), nextCursor: cursor, since, countedFrom })
export const UserSumsReply = closed({
  ...GroupSums.properties,
  /** Start of the period, which the sums and the sessions cover. */
  from: text,
  sessions: Type.Array(SessionRow),
  countedFrom
})
const { isMore: _, ...sums } = GroupSums.properties
export const SessionSumsReply = closed({
  ...sums,
  running: Count,
  /** Total duration of the session's traces. */
  durationMs: Count,
  users: Type.Array(text),
  /** Number of newest traces that were summed, if the session has more traces; otherwise null. */
  newest: nullable(Count)
})
/** Traces of a session, oldest first. */
export const SessionTracesReply = closed({
  traces: Type.Array(TraceSummary),
  nextCursor: cursor,
  /** The first error of each trace with a failed step, by the trace's id. */
  errors: mapOf(FirstError)
})

const RoleReply = Type.Enum([...ROLES])

const { keyScopes: __, ...described } = Project.properties
/** A project and, if search is on, the progress of its index. */
export const ProjectPageReply = closed({
  ...described,
  role: RoleReply,
  search: nullable(closed(SearchState)),
  /** How long traces are kept, if `spoor retention run` runs regularly; null if there is no limit. */
  retention: nullable(closed({ days: Count, keepsScored: flag, keepsTags: Type.Array(text) })),
  /** Log records and metrics that were received but not kept. */
  unkept: Type.Array(
    closed({ signal: Type.Enum(['logs', 'metrics']), name: text, count: Count, firstAt: DateTime, lastAt: DateTime })
  )
})

/** A price that applies to the project or to all projects. */
export const PriceReply = closed({
  id: Count,
  ofProject: flag,
  model: text,
  from: nullable(DateTime),
  input: cost,
  output: cost,
  cacheRead: nullable(cost),
  cacheWrite: nullable(cost)
})
export const PricesReply = closed({
  prices: Type.Array(PriceReply),
  unpriced: Type.Array(closed({ model: text, calls: Count, lastAt: DateTime }))
})
export const OnePriceReply = closed({ price: PriceReply })

export const ScoreDefinitionReply = ScoreDefinition
export const ScoreDefinitionsReply = closed({ definitions: Type.Array(ScoreDefinition) })
export const OneScoreDefinitionReply = closed({ definition: ScoreDefinition })

const publicLink = { id: Count, createdAt: DateTime, expiresAt: DateTime }
/** A trace's valid public links. `madeBy` is null if the user was removed. */
export const PublicLinksReply = closed({ links: Type.Array(closed({ ...publicLink, madeBy: nullable(text) })) })
/** A new public link, with the token that only this response shows. */
export const PublicLinkReply = closed({ ...publicLink, token: text })
/** A trace that is shown by a public link, without scores. */
export const SharedTraceReply = closed({
  trace: TraceDetail.properties.trace,
  spans: TraceDetail.properties.spans
})

/** A page of a review's traces. `isJudged`: somebody has given the trace this score. */
export const ReviewQueueReply = closed({
  traces: Type.Array(closed({ id: ShownTraceId, isJudged: flag, isRunning: flag })),
  nextCursor: cursor
})
/** The leased trace; null if others are judging, or have judged, all of the requested traces. */
export const ReviewClaimReply = closed({ traceId: nullable(ShownTraceId), judged: Type.Array(ShownTraceId) })

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
/** A new key. `key` is the whole key, including the secret. */
export const IssuedKeyReply = closed({ key: text, ...issued })
/** A key without its secret. */
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
  /** Whether an OpenID Connect provider assigned the role. */
  byClaim: flag,
  createdAt: DateTime,
  /** Last use of any session of the member; null if there is no session. */
  seenAt: nullable(DateTime),
  /** Whether the member is the visitor. */
  own: flag,
  hasFactor: flag
})
/** `requiresFactor`: people with a password need a second factor to see the account's projects. */
export const MembersReply = closed({ members: Type.Array(MemberReply), requiresFactor: flag })
/** `member` is absent if another owner has just removed the member. */
export const OneMemberReply = closed({ member: Type.Optional(MemberReply) })
export const InvitationReply = closed({ ...OneMemberReply.properties, link: text })
export const SignInLinkReply = closed({ link: text })

const AuditEntryReply = closed({
  id: Count,
  at: DateTime,
  by: text,
  action: text,
  project: nullable(text),
  account: nullable(text),
  client: nullable(text),
  detail: Type.Record(Type.String(), Type.Unknown())
})
/** A page of the account's audit log, newest entries first. `next` is the value of `before` for the next page. */
export const AuditReply = closed({
  entries: Type.Array(AuditEntryReply),
  next: nullable(Count),
  /** Whether opening a trace is recorded. */
  views: flag
})

/** The visitor's second factor, and the number of unused recovery codes. */
export const FactorReply = closed({ isOn: flag, recoveryCodes: Count })
/** The secret to enter in an app by hand, and the address that an app reads from a QR code. */
export const NewFactorReply = closed({ secret: text, address: text })
export const RecoveryCodesReply = closed({ codes: Type.Array(text) })

const ProjectSeen = closed({ slug: text, name: text, role: RoleReply, search: flag })
/** The signed-in user, the projects visible to the user, and the ways to sign in. */
export const SessionReply = closed({
  user: nullable(closed({ id: Count, email: text, name: text, hasPassword: flag, hasFactor: flag })),
  projects: Type.Array(ProjectSeen),
  /** Whether owners can create public links to traces. */
  publicLinks: flag,
  signIn: closed({
    password: flag,
    oidc: flag,
    /** Whether people can sign in only through OpenID Connect or links. */
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
  /** Whether this is the requesting browser. */
  current: flag
})
export const SessionsReply = closed({ sessions: Type.Array(SignedIn) })
