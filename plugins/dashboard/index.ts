/**
 * The dashboard: a page for people and the routes that the page calls. These routes are undocumented and not part of
 * the API. They accept a session cookie instead of a key. A session gives no access to API routes, and a key gives no
 * access to dashboard routes.
 */
import type { App } from '../../lib/app.ts'
import auditPage from './audit.ts'
import charts from './charts.ts'
import failures from './failures.ts'
import groupPair from './group-pair.ts'
import lists from './lists.ts'
import matches from './matches.ts'
import pages from './pages.ts'
import factor from './people/factor.ts'
import members from './people/members.ts'
import oidc from './people/oidc.ts'
import session from './people/session.ts'
import signIn from './people/sign-in.ts'
import previews from './previews.ts'
import keys from './project/keys.ts'
import prices from './project/prices.ts'
import projectSettings from './project/project.ts'
import scoreDefinitions from './project/score-definitions.ts'
import views from './project/views.ts'
import publicLinks from './public-links.ts'
import review from './review.ts'
import scorePages from './scores.ts'
import sessionPages from './sessions.ts'
import stepList from './spans.ts'
import trace from './trace.ts'
import { viewNoter } from './views-of-traces.ts'

export default async function dashboard(app: App): Promise<void> {
  if (!app.config.dashboard) return
  await pages(app)
  signIn(app)
  oidc(app)
  session(app)
  factor(app)
  lists(app)
  matches(app)
  charts(app)
  failures(app)
  stepList(app)
  groupPair(app)
  const noteView = viewNoter(app)
  trace(app, noteView)
  previews(app, noteView)
  scorePages(app)
  review(app)
  publicLinks(app)
  sessionPages(app)
  projectSettings(app)
  prices(app)
  scoreDefinitions(app)
  views(app)
  keys(app)
  auditPage(app)
  members(app)
}
