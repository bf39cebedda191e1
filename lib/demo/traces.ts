/**
 * The traces that `spoor demo` records, as instrumented applications would send them: runs that succeed, that recover, and
 * that fail; conversations; a picture and a recording. All ids are new, so that every run adds traces.
 */
import { failedPlanner, reviewedChange } from './agents.ts'
import { failedSummary, handbookSearch, runningResearch, streamedReply, supportRun } from './bookshop.ts'
import { conversation } from './conversation.ts'
import { pictureQuestion, voiceNote } from './media.ts'
import { ordinaryTraces } from './ordinary.ts'
import { clock, type DemoTrace } from './parts.ts'

/** How many traces there are at least: those that are written out. */
export const WRITTEN_OUT = 12
/** How many there are at most: they are made in memory. */
export const MOST_TRACES = 10_000

const MINUTE_MS = 60_000

/** In the order of time, all shortly before `now`. More than WRITTEN_OUT are ordinary ones of the day before. */
export function demoTraces(now: number, count = WRITTEN_OUT): DemoTrace[] {
  const ago = (minutes: number) => clock(now - minutes * MINUTE_MS)
  return [
    ...ordinaryTraces(now - 60 * MINUTE_MS, count - WRITTEN_OUT),
    ...conversation([ago(52), ago(49), ago(41)]),
    reviewedChange(ago(35)),
    pictureQuestion(ago(29)),
    failedPlanner(ago(22)),
    voiceNote(ago(18)),
    supportRun(ago(14)),
    handbookSearch(ago(11)),
    failedSummary(ago(6)),
    streamedReply(ago(3)),
    runningResearch(clock(now - 20_000))
  ]
}
