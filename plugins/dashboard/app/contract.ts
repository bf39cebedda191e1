/**
 * Types of the server's responses, derived from the schemas that routes declare and tests enforce.
 * test/plugins/dashboard/app/contract.test.ts checks each line against its route.
 */
import type { Static, TSchema } from 'typebox'
import type * as Output from '../../../lib/schema/output.ts'
import type * as Reply from '../replies.ts'

export type { Range } from '../../../lib/rollups/period.ts'

/** Response schemas by method and path. Paths are relative to `/app/api/`. */
interface Replies {
  'GET session': typeof Reply.SessionReply
  'DELETE session': typeof Reply.NothingReply
  'GET sessions': typeof Reply.SessionsReply
  'DELETE sessions/:sessionId': typeof Reply.DoneReply
  'POST password': typeof Reply.DoneReply
  'GET factor': typeof Reply.FactorReply
  'POST factor': typeof Reply.NewFactorReply
  'DELETE factor': typeof Reply.DoneReply
  'POST factor/confirm': typeof Reply.RecoveryCodesReply
  'POST factor/recovery-codes': typeof Reply.RecoveryCodesReply
  'POST sign-in/link': typeof Reply.NothingReply
  'POST sign-in/password': typeof Reply.NothingReply
  'GET traces/:traceId': typeof Reply.SlugReply
  'GET p/:slug': typeof Reply.ProjectPageReply
  'PATCH p/:slug': typeof Reply.ProjectPageReply
  'GET p/:slug/audit': typeof Reply.AuditReply
  'POST p/:slug/deletions': typeof Reply.TracesDeleted
  'GET p/:slug/errors': typeof Reply.FailuresReply
  'GET p/:slug/facets': typeof Reply.FacetsReply
  'GET p/:slug/facet-counts': typeof Reply.FacetCountsReply
  'GET p/:slug/group-pair': typeof Reply.GroupPairReply
  'GET p/:slug/keys': typeof Reply.KeysReply
  'POST p/:slug/keys': typeof Reply.IssuedKeyReply
  'POST p/:slug/keys/:keyId/rotate': typeof Reply.IssuedKeyReply
  'POST p/:slug/keys/:keyId/revoke': typeof Reply.KeyReply
  'GET p/:slug/members': typeof Reply.MembersReply
  'POST p/:slug/members': typeof Reply.InvitationReply
  'PATCH p/:slug/members': typeof Reply.DoneReply
  'DELETE p/:slug/members/:userId/factor': typeof Reply.DoneReply
  'POST p/:slug/members/:userId/link': typeof Reply.SignInLinkReply
  'PATCH p/:slug/members/:userId': typeof Reply.OneMemberReply
  'DELETE p/:slug/members/:userId': typeof Reply.DoneReply
  'GET p/:slug/prices': typeof Reply.PricesReply
  'POST p/:slug/prices': typeof Reply.OnePriceReply
  'DELETE p/:slug/prices/:priceId': typeof Reply.DoneReply
  'GET p/:slug/score-disagreement': typeof Reply.ScoreDisagreementReply
  'GET p/:slug/score-names': typeof Reply.ScoreNamesReply
  'GET p/:slug/score-series': typeof Reply.ScoreSeriesReply
  'GET p/:slug/scored-traces': typeof Reply.ScoredTracesReply
  'GET p/:slug/series': typeof Reply.SeriesOrSplitReply
  'GET p/:slug/traces/:traceId/public-links': typeof Reply.PublicLinksReply
  'POST p/:slug/traces/:traceId/public-links': typeof Reply.PublicLinkReply
  'DELETE p/:slug/public-links/:linkId': typeof Reply.DoneReply
  'POST shared': typeof Reply.SharedTraceReply
  'GET p/:slug/review': typeof Reply.ReviewQueueReply
  'POST p/:slug/review/claims': typeof Reply.ReviewClaimReply
  'GET p/:slug/score-definitions': typeof Reply.ScoreDefinitionsReply
  'POST p/:slug/score-definitions': typeof Reply.OneScoreDefinitionReply
  'DELETE p/:slug/score-definitions/:name': typeof Reply.DoneReply
  'GET p/:slug/session': typeof Reply.SessionSumsReply
  'GET p/:slug/session-traces': typeof Reply.SessionTracesReply
  'GET p/:slug/sessions': typeof Reply.SessionPageReply
  'GET p/:slug/spans': typeof Reply.StepsReply
  'GET p/:slug/suggestions': typeof Reply.SuggestionsReply
  'GET p/:slug/trace-count': typeof Reply.MatchCountReply
  'GET p/:slug/trace-summaries': typeof Reply.TraceSummariesReply
  'GET p/:slug/trace-table': typeof Reply.MatchTableReply
  'GET p/:slug/traces': typeof Reply.TracePageReply
  'GET p/:slug/traces/:traceId': typeof Output.TraceDetail
  'PATCH p/:slug/traces/:traceId': typeof Output.MetadataPatched
  'DELETE p/:slug/traces/:traceId': typeof Output.TraceDeleted
  'GET p/:slug/traces/:traceId/body': typeof Reply.TraceBodyReply
  'GET p/:slug/traces/:traceId/outline': typeof Reply.OutlineReply
  'GET p/:slug/traces/:traceId/previews': typeof Reply.PreviewsReply
  'GET p/:slug/traces/:traceId/spans/:spanId': typeof Output.SpanOutput
  'GET p/:slug/traces/:traceId/texts': typeof Reply.TraceTextsReply
  'POST p/:slug/traces/:traceId/scores': typeof Output.ScoreAdded
  'DELETE p/:slug/traces/:traceId/scores/:scoreId': typeof Output.ScoreDeleted
  'GET p/:slug/user': typeof Reply.UserSumsReply
  'GET p/:slug/users': typeof Reply.UserPageReply
  'GET p/:slug/views': typeof Reply.ViewsReply
  'POST p/:slug/views': typeof Reply.OneViewReply
  'PATCH p/:slug/views/:viewId': typeof Reply.OneViewReply
  'DELETE p/:slug/views/:viewId': typeof Reply.DoneReply
}

type Calls = keyof Replies
export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'
type PathOf<C> = C extends `${Method} ${infer P}` ? P : never
export type Path = PathOf<Calls>
export type Parameters<P> = P extends `${string}:${infer Rest}`
  ? Rest extends `${infer Name}/${infer More}`
    ? Name | Parameters<More>
    : Rest
  : never
/** Response type; `never` if the path does not support the method. */
export type Answer<M extends Method, P extends Path> = `${M} ${P}` extends Calls ? Of<Replies[`${M} ${P}`]> : never

type Of<S extends TSchema> = DeepReadonly<Static<S>>
type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T

export type TraceListItem = Of<typeof Output.TraceSummary>
export type Status = TraceListItem['status']
export type TokenUsage = TraceListItem['usage']
export type ScoreSummary = TraceListItem['scores'][string]
export type DataType = ScoreSummary['dataType']
export type TracePage = Of<typeof Reply.TracePageReply>
/** A trace of the list: its summary, its first error, and the beginnings of its texts. */
export type TraceMatch = TracePage['traces'][number]
export type Excerpt = NonNullable<TraceMatch['excerpt']>
export type SuggestedValues = Of<typeof Reply.SuggestionsReply>
export type SuggestedField =
  | 'name'
  | 'model'
  | 'environment'
  | 'userId'
  | 'sessionId'
  | 'tag'
  | 'tagKey'
  | 'step'
  | 'score'
export type Outline = Of<typeof Reply.WholeOutlineReply>
export type AuditItem = Of<typeof Reply.AuditReply>['entries'][number]
export type OwnPrice = Of<typeof Reply.PriceReply>
export type OutlineSpan = Outline['spans'][number]
export type Score = Outline['scores'][number]
export type Facets = Of<typeof Reply.FacetsReply>
export type FacetCounts = Of<typeof Reply.FacetCountsReply>
export type ScoreName = Of<typeof Reply.ScoreNamesReply>[number]

export type SeriesAnswer = Of<typeof Reply.SeriesReply>
export type SplitAnswer = Of<typeof Reply.SplitReply>
export type SplitRow = SplitAnswer['groups'][number]
export type Step = SeriesAnswer['step']

export type StepPage = Of<typeof Reply.StepsReply>
export type ListedStep = StepPage['spans'][number]

export type FailurePage = Of<typeof Reply.FailuresReply>
export type GroupOfFailures = FailurePage['groups'][number]

export type GroupPair = Of<typeof Reply.GroupPairReply>
export type ComparedScore = GroupPair['scores'][number]

export type ScoreSeries = Of<typeof Reply.ScoreSeriesReply>
export type ScoreOverTime = ScoreSeries['names'][number]

export type SessionPage = Of<typeof Reply.SessionPageReply>
export type UserPage = Of<typeof Reply.UserPageReply>
export type ListedSession = SessionPage['groups'][number]
export type Group = UserPage['groups'][number] | ListedSession
export type SessionTraces = Of<typeof Reply.SessionTracesReply>

export type Session = Of<typeof Reply.SessionReply>
export type VisitorProject = Session['projects'][number]
export type Role = VisitorProject['role']
export type ProjectAnswer = Of<typeof Reply.ProjectPageReply>
export type ProjectMember = Of<typeof Reply.MemberReply>
export type Key = Of<typeof Reply.KeyReply>
export type SharedTrace = Of<typeof Reply.SharedTraceReply>
export type ScoreDefinition = Of<typeof Reply.ScoreDefinitionReply>
export type View = Of<typeof Reply.ViewReply>
