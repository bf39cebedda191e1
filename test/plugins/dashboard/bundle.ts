/** Reads the page's build, and measures the bytes that a browser loads. */
import { readFile } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'
import type { AssetManifest } from '../../../plugins/dashboard/build.ts'

export const BUILT = new URL('build/dashboard/', import.meta.resolve('#package.json'))
export const readBuilt = (name: string): Promise<Buffer> => readFile(new URL(name, BUILT))
export const readManifest = async (): Promise<AssetManifest> => JSON.parse(String(await readBuilt('manifest.json')))

/** Returns the modules that a module needs when it starts: itself and its imports, directly or indirectly. */
export async function needsOf(name: string, known = new Set<string>()): Promise<Set<string>> {
  if (known.has(name)) return known
  known.add(name)
  const imports = String(await readBuilt(name)).matchAll(/(?:from|import)"\.\/([^"]+)"/g)
  for (const [, imported] of imports) await needsOf(imported!, known)
  return known
}

/** Returns the bytes that a list loads, and the additional bytes that a trace loads, each compressed with gzip. */
export async function bundleBytes(): Promise<{ readonly list: number; readonly trace: number }> {
  const manifest = await readManifest()
  const list = await needsOf(manifest.app)
  const more = [...(await needsOf(manifest.trace))].filter(name => !list.has(name))
  return { list: await zipped([...list, manifest.css]), trace: await zipped(more) }
}

async function zipped(names: Iterable<string>): Promise<number> {
  let bytes = 0
  for (const name of names) bytes += gzipSync(await readBuilt(name), { level: 9 }).length
  return bytes
}
