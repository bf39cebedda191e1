/** Dialogs that are loaded when the first of them is opened. */

export { TimeDialog } from '../ui/time-dialog.tsx'
export { ColumnsDialog } from './columns-dialog.tsx'
