/** Dialogs that are loaded when the first of them is opened. */
export { ColumnsDialog } from './columns-dialog.tsx'
export { TimeDialog } from './time-dialog.tsx'
