/**
 * What the server answers to the page: types only, from the schemas that the routes name and tests hold answers against.
 * test/plugins/dashboard/app/contract.test.ts checks each line against the route that it names.
 */
import type { Static, TSchema } from 'typebox'
import type * as Output from '../../../lib/schema/output.ts'
import type * as Reply from '../replies.ts'

export type { Range } from '../../../lib/rollups/period.ts'

/** The schema of each answer, by method and path. Paths are relative to `/app/api/`. */
interface Replies {
  'GET session': typeof Reply.Session
  'DELETE session': typeof Reply.Nothing
  'GET sessions': typeof Reply.Sessions
  'DELETE sessions/:sessionId': typeof Reply.Done
  'POST password': typeof Reply.Done
  'POST sign-in/link': typeof Reply.Nothing
  'POST sign-in/password': typeof Reply.Nothing
  'GET traces/:traceId': typeof Reply.Slug
  'GET p/:slug': typeof Reply.ProjectPage
  'PATCH p/:slug': typeof Reply.ProjectPage
  'GET p/:slug/facets': typeof Reply.Facets
  'GET p/:slug/facet-counts': typeof Reply.FacetCounts
  'GET p/:slug/keys': typeof Reply.Keys
  'POST p/:slug/keys': typeof Reply.IssuedKey
  'POST p/:slug/keys/:keyId/rotate': typeof Reply.IssuedKey
  'POST p/:slug/keys/:keyId/revoke': typeof Reply.Key
  'GET p/:slug/members': typeof Reply.Members
  'POST p/:slug/members': typeof Reply.Invitation
  'POST p/:slug/members/:userId/link': typeof Reply.SignInLink
  'PATCH p/:slug/members/:userId': typeof Reply.OneMember
  'DELETE p/:slug/members/:userId': typeof Reply.Done
  'GET p/:slug/score-disagreement': typeof Reply.ScoreDisagreement
  'GET p/:slug/score-names': typeof Reply.ScoreNames
  'GET p/:slug/score-series': typeof Reply.ScoreSeries
  'GET p/:slug/scored-traces': typeof Reply.ScoredTraces
  'GET p/:slug/series': typeof Reply.SeriesOrTotals
  'GET p/:slug/session': typeof Reply.SessionSums
  'GET p/:slug/session-traces': typeof Reply.SessionTraces
  'GET p/:slug/sessions': typeof Reply.SessionPage
  'GET p/:slug/traces': typeof Reply.TracePage
  'GET p/:slug/traces/:traceId': typeof Output.TraceDetail
  'PATCH p/:slug/traces/:traceId': typeof Output.MetadataPatched
  'DELETE p/:slug/traces/:traceId': typeof Output.TraceDeleted
  'GET p/:slug/traces/:traceId/body': typeof Reply.TraceBody
  'GET p/:slug/traces/:traceId/outline': typeof Reply.Outline
  'GET p/:slug/traces/:traceId/spans/:spanId': typeof Output.SpanOutput
  'GET p/:slug/traces/:traceId/texts': typeof Reply.TraceTexts
  'POST p/:slug/traces/:traceId/scores': typeof Output.ScoreAdded
  'DELETE p/:slug/traces/:traceId/scores/:scoreId': typeof Output.ScoreDeleted
  'GET p/:slug/user': typeof Reply.UserSums
  'GET p/:slug/users': typeof Reply.UserPage
  'GET p/:slug/views': typeof Reply.Views
  'POST p/:slug/views': typeof Reply.OneView
  'PATCH p/:slug/views/:viewId': typeof Reply.OneView
  'DELETE p/:slug/views/:viewId': typeof Reply.Done
}

type Calls = keyof Replies
export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'
type PathOf<C> = C extends `${Method} ${infer P}` ? P : never
export type Path = PathOf<Calls>
/** What a path needs filled in. */
export type Parameters<P> = P extends `${string}:${infer Rest}`
  ? Rest extends `${infer Name}/${infer More}`
    ? Name | Parameters<More>
    : Rest
  : never
/** What the server answers; `never` where the path has no such method. */
export type Answer<M extends Method, P extends Path> = `${M} ${P}` extends Calls ? Of<Replies[`${M} ${P}`]> : never

type Of<S extends TSchema> = DeepReadonly<Static<S>>
type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T

export type TraceSummary = Of<typeof Output.TraceSummary>
export type Status = TraceSummary['status']
export type Usage = TraceSummary['usage']
export type ScoreSummary = TraceSummary['scores'][string]
export type ScoreValue = ScoreSummary['value']
export type DataType = ScoreSummary['dataType']
export type TracePage = Of<typeof Reply.TracePage>
export type Excerpt = Of<typeof Reply.Excerpt>
export type Outline = Of<typeof Reply.WholeOutline>
export type OutlineSpan = Outline['spans'][number]
export type Score = Outline['scores'][number]
export type Facets = Of<typeof Reply.Facets>
export type FacetCounts = Of<typeof Reply.FacetCounts>
export type ScoreName = Of<typeof Reply.ScoreNames>[number]

export type SeriesAnswer = Of<typeof Reply.Series>
export type TotalsAnswer = Of<typeof Reply.Totals>
export type TraceGroup = TotalsAnswer['groups'][number]
export type Total = TraceGroup['total']
export type Step = SeriesAnswer['step']

export type ScoreSeries = Of<typeof Reply.ScoreSeries>
export type ScoreOverTime = ScoreSeries['names'][number]

export type SessionPage = Of<typeof Reply.SessionPage>
export type UserPage = Of<typeof Reply.UserPage>
/** What the traces of a session or of a user add up to. */
export type Group = SessionPage['groups'][number]
export type UserSums = Of<typeof Reply.UserSums>
export type SessionSums = Of<typeof Reply.SessionSums>
export type SessionTraces = Of<typeof Reply.SessionTraces>

export type Session = Of<typeof Reply.Session>
export type Project = Session['projects'][number]
export type Role = Project['role']
export type SignedIn = Of<typeof Reply.Sessions>['sessions'][number]
export type ProjectAnswer = Of<typeof Reply.ProjectPage>
export type Member = Of<typeof Reply.Member>
export type Key = Of<typeof Reply.Key>
export type View = Of<typeof Reply.View>
