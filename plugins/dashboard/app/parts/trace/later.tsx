/** What of a trace's page is loaded when it is first wanted. */
export { CompareDialog } from '../compare/compare-dialog.tsx'
export { Annotate } from './annotate.tsx'
export { LogView } from './log-view.tsx'
export { MetadataDialog } from './metadata-dialog.tsx'
