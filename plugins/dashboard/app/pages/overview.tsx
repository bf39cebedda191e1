/** The overview of a project: numbers over time. */
import { useArrival } from '../state/place.ts'

export function OverviewPage({ slug }: { slug: string }) {
  useArrival(true)
  return <h1 tabIndex={-1}>Overview {slug}</h1>
}
