/** Dialogs that are loaded when the first of them is opened. */
export { CommandBox } from './command-box.tsx'
export { Help } from './help.tsx'
