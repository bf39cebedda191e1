import type { View } from '../contract.ts'
import { at, read, write } from './api.ts'
import { type Loaded, useLoad } from './load.ts'

const viewsAt = (slug: string) => at('p/:slug/views', { slug })
const viewAt = (slug: string, id: number) => at('p/:slug/views/:viewId', { slug, viewId: id })

export function useViews(slug: string): Loaded<readonly View[]> {
  const path = viewsAt(slug)
  return useLoad(path, async signal => (await read(path, { signal })).views)
}

export async function saveView(slug: string, view: Omit<View, 'id'>): Promise<void> {
  await write('POST', viewsAt(slug), { body: view })
}

export async function changeView(slug: string, id: number, change: Partial<Omit<View, 'id'>>): Promise<void> {
  await write('PATCH', viewAt(slug, id), { body: change })
}

export async function removeView(slug: string, id: number): Promise<void> {
  await write('DELETE', viewAt(slug, id))
}
