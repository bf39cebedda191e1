/** Dialogs that are loaded when the first of them is opened. */
export { Help } from './help.tsx'
export { Jump } from './jump.tsx'
