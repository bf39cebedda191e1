/** What comes to the list once its traces are there. */
export { readCounts } from '../../state/list/counts.ts'
export { ViewsMenu } from '../views/views-menu.tsx'
export { Sparkline } from './sparkline.tsx'
