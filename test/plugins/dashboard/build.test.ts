/** What the build of the page made: how much a browser loads for a list, and how much more for a trace. */
import { readdir, readFile } from 'node:fs/promises'
import { brotliDecompressSync, gzipSync } from 'node:zlib'
import t from 'tap'
import type { Manifest } from '../../../plugins/dashboard/build.ts'

const BUILT = new URL('build/dashboard/', import.meta.resolve('#package.json'))
const read = (name: string) => readFile(new URL(name, BUILT))
const manifest: Manifest = JSON.parse(await readFile(new URL('manifest.json', BUILT), 'utf8'))
const zipped = async (names: Iterable<string>) => {
  let bytes = 0
  for (const name of names) bytes += gzipSync(await read(name), { level: 9 }).length
  return bytes
}

/** The modules that one needs from its start, itself and those of its imports included. */
async function needsOf(name: string, known = new Set<string>()): Promise<Set<string>> {
  if (known.has(name)) return known
  known.add(name)
  const imports = (await readFile(new URL(name, BUILT), 'utf8')).matchAll(/(?:from|import)"\.\/([^"]+)"/g)
  for (const [, imported] of imports) await needsOf(imported!, known)
  return known
}

t.test('a list is 35 kB, a trace 35 kB more', async t => {
  const list = await needsOf(manifest.app)
  t.same([...list].sort(), [manifest.app, ...manifest.preload].sort(), 'the shell knows all that the page begins with')
  const listBytes = await zipped([...list, manifest.css])
  t.ok(listBytes <= 35_000, `${listBytes} bytes`)
  const more = [...(await needsOf(manifest.trace))].filter(name => !list.has(name))
  const moreBytes = await zipped(more)
  t.ok(moreBytes <= 35_000, `${moreBytes} bytes`)
})

t.test('the licences of what is built in are beside it', async t => {
  const text = (await read('licences.txt')).toString()
  for (const notice of ['Copyright (c) 2015-present Jason Miller', 'MarkedJS', 'Permission is hereby granted']) {
    t.match(text, notice)
  }
})

t.test('each file has its Brotli form beside it', async t => {
  const names = (await readdir(BUILT)).filter(name => /\.(?:js|css)$/.test(name))
  t.ok(names.length >= 5)
  for (const name of names) t.ok(brotliDecompressSync(await read(`${name}.br`)).equals(await read(name)), name)
})

t.test('no script of the page makes markup of texts, or code', async t => {
  for (const name of (await readdir(BUILT)).filter(name => name.endsWith('.js'))) {
    const text = (await read(name)).toString()
    // Preact's own way for it, which the page does not use.
    const own = text.replace(/dangerouslySetInnerHTML|\.__html|innerHTML/g, found =>
      name.startsWith('chunk') ? '' : found
    )
    t.notMatch(own, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/, name)
  }
})
