import { at, read } from './api.ts'
import { useLoad } from './load.ts'

/** Loads the keys of the newest traces' tags, with their numbers of traces, if `wanted`. */
export function useTagKeys(slug: string, wanted: boolean): ReadonlyMap<string, number> | undefined {
  const { value } = useLoad(wanted ? `tag keys ${slug}` : undefined, signal =>
    read(at('p/:slug/suggestions', { slug }, new URLSearchParams({ field: 'tagKey' })), { signal })
  )
  return value && new Map(value.values.map(({ value, traces }) => [value, traces]))
}
