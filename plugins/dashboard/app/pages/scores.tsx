/** The scores of a project: distributions and trends. */
import { useArrival } from '../state/place.ts'

export function ScoresPage({ slug }: { slug: string }) {
  useArrival(true)
  return <h1 tabIndex={-1}>Scores {slug}</h1>
}
