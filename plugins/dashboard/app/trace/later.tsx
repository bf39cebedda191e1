/**
 * The parts of the trace page that load after it, as one module, because each further module would split off the code
 * that it shares with the page.
 */
export { Events } from './events-view.tsx'
export { LogView } from './log-view.tsx'
export { CallParameters } from './parameters.tsx'
export { TraceScores } from './scores.tsx'
export { TraceDialog } from './trace-dialogs.tsx'
export { TurnsView } from './turns-view.tsx'
