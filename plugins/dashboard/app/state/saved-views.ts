/** The saved views of a project, as the server has them. */

import { read, write } from './api.ts'
import { type Loaded, useLoad } from './load.ts'
import type { View } from './views.ts'

const pathOf = (slug: string) => `p/${encodeURIComponent(slug)}/views`

export function useViews(slug: string): Loaded<readonly View[]> {
  const path = pathOf(slug)
  return useLoad(path, async signal => (await read<{ views: View[] }>(path, { signal })).views)
}

export async function saveView(slug: string, view: Omit<View, 'id'>): Promise<void> {
  await write('POST', pathOf(slug), { body: view })
}

export async function changeView(slug: string, id: number, change: Partial<Omit<View, 'id'>>): Promise<void> {
  await write('PATCH', `${pathOf(slug)}/${id}`, { body: change })
}

export async function removeView(slug: string, id: number): Promise<void> {
  await write('DELETE', `${pathOf(slug)}/${id}`)
}
