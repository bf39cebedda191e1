/** What comes to the list once its traces are there. */

export { ViewsMenu } from '../ui/views-menu.tsx'
export { readCounts } from './facet-counts.ts'
export { Sparkline } from './sparkline.tsx'
