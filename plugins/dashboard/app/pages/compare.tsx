/** Two traces side by side. */
import { useArrival } from '../state/place.ts'

export function ComparePage({ slug }: { slug: string }) {
  useArrival(true)
  return <h1 tabIndex={-1}>Compare {slug}</h1>
}
