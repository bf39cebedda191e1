/** The views of tools by name. Other threads use them too, to convert long responses. */
import { OUTLINES } from './list-outlines.ts'
import { listView } from './list-view.ts'
import type { ToolView } from './tool.ts'
import { traceView } from './trace-view.ts'
import { usageView } from './usage-view.ts'

export const LIST_VIEWS = {
  traces: listView(OUTLINES.traces),
  search: listView(OUTLINES.search),
  spans: listView(OUTLINES.spans),
  errors: listView(OUTLINES.errors),
  sessions: listView(OUTLINES.sessions),
  users: listView(OUTLINES.users),
  changes: listView(OUTLINES.changes),
  scores: listView(OUTLINES.scores)
}

export const VIEWS: ReadonlyMap<string, ToolView> = new Map(
  [traceView, usageView, ...Object.values(LIST_VIEWS)].map(view => [view.name, view])
)
