/** Almost valid requests for fuzzing the dashboard, generated like those for the API (test/torture/input/fuzz.ts). */
import type fc from 'fast-check'
import { type Bare, type Bodies, type FuzzRequest, requestsOf, SPAN_IDS } from './fuzz.ts'

const P = '/app/api/p/default'
const SCORE = 'aaaaaaaaaaaaaaaa'

const BODIES: Bodies = [
  ['POST', `${P}/traces/:id/scores`, () => ({ name: 'quality', dataType: 'numeric', value: 0.5, comment: 'fine' })],
  ['POST', `${P}/traces/:id/scores`, () => ({ name: 'v', dataType: 'boolean', value: true, spanId: SPAN_IDS[0] })],
  ['PATCH', `${P}/traces/:id`, () => ({ metadata: { a: 2, e: { f: [1, 2] } } })],
  ['PATCH', P, () => ({ name: 'Default' })],
  ['PATCH', P, () => ({ search: true })],
  ['POST', `${P}/keys`, () => ({ label: 'ci', scopes: ['traces:read'], environment: 'prod', expiresInDays: 30 })],
  ['POST', `${P}/keys/:id/rotate`, () => ({})],
  ['POST', `${P}/members`, () => ({ email: 'new@example.com', role: 'viewer' })],
  ['PATCH', `${P}/members/:id`, () => ({ role: 'member' })],
  ['POST', `${P}/members/:id/link`, () => ({})],
  ['POST', '/app/api/password', () => ({ current: 'correct horse battery', password: null })],
  ['POST', '/app/api/sign-in/link', () => ({ token: 'x'.repeat(43) })]
]

const BARE: Bare = [
  ['GET', '/app'],
  ['GET', '/app/p/default/traces/:id'],
  ['GET', '/app/assets/:id'],
  ['GET', '/app/api/session'],
  ['GET', '/app/api/sessions'],
  ['DELETE', '/app/api/sessions/:id'],
  ['GET', '/app/api/traces/:id'],
  ['GET', '/app/api/p/:id/traces'],
  ['GET', P],
  ['GET', `${P}/traces`],
  ['GET', `${P}/traces?ids=:id`],
  ['GET', `${P}/traces?q=:id`],
  ['GET', `${P}/scores`],
  ['GET', `${P}/facets`],
  ['GET', `${P}/score-names`],
  ['GET', `${P}/errors?after=:id`],
  ['GET', `${P}/group-pair?a=user::id&b=tag:a::id`],
  ['GET', `${P}/series?by=tag::id`],
  ['GET', `${P}/score-series?name=:id`],
  ['GET', `${P}/score-disagreement?name=:id`],
  ['GET', `${P}/scored-traces?name=quality&value=:id`],
  ['GET', `${P}/sessions?prefix=:id`],
  ['GET', `${P}/users?prefix=:id`],
  ['GET', `${P}/user?id=:id`],
  ['GET', `${P}/session?id=:id`],
  ['GET', `${P}/session-traces?id=:id`],
  ['GET', `${P}/traces/:id`],
  ['GET', `${P}/traces/:id/outline`],
  ['GET', `${P}/traces/:id/texts`],
  ['GET', `${P}/traces/:id/spans/${SPAN_IDS[0]}`],
  ['GET', `${P}/traces/${'1'.repeat(32)}/spans/:id`],
  ['DELETE', `${P}/traces/:id`],
  ['DELETE', `${P}/traces/:id/scores/${SCORE}`],
  ['GET', `${P}/keys`],
  ['GET', `${P}/members`],
  ['DELETE', `${P}/members/:id`]
]

export const pageRequest: fc.Arbitrary<FuzzRequest> = requestsOf(BODIES, BARE)
