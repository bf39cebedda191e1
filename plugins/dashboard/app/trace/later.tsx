/** What of a trace's page is loaded when it is first wanted. */

export { Annotate } from './annotate.tsx'
export { CompareDialog } from './compare-dialog.tsx'
export { LogView } from './log-view.tsx'
export { MetadataDialog } from './metadata-dialog.tsx'
