/** Limits how many bytes of the build a browser loads for a list, and how many more for a trace. */
import { readdir } from 'node:fs/promises'
import { brotliDecompressSync } from 'node:zlib'
import t from 'tap'
import { BUILT, bundleBytes, needsOf, readBuilt, readManifest } from './bundle.ts'

t.test('a list takes at most 40 kB, and a trace 35 kB more', async t => {
  const { app, preload } = await readManifest()
  const list = await needsOf(app)
  t.same([...list].sort(), [app, ...preload].sort(), 'the shell lists everything that the page needs at first')
  const bytes = await bundleBytes()
  t.ok(bytes.list <= 40_000, `${bytes.list} bytes`)
  t.ok(bytes.trace <= 35_000, `${bytes.trace} bytes`)
})

t.test('licences of bundled packages are included', async t => {
  const text = (await readBuilt('licences.txt')).toString()
  for (const notice of ['Copyright (c) 2015-present Jason Miller', 'Permission is hereby granted']) {
    t.match(text, notice)
  }
})

t.test('each file has a Brotli version', async t => {
  const names = (await readdir(BUILT)).filter(name => /\.(?:js|css)$/.test(name))
  t.ok(names.length >= 5)
  for (const name of names)
    t.ok(brotliDecompressSync(await readBuilt(`${name}.br`)).equals(await readBuilt(name)), name)
})

t.test('no script of the page creates markup or code from texts', async t => {
  for (const name of (await readdir(BUILT)).filter(name => name.endsWith('.js'))) {
    const text = (await readBuilt(name)).toString()
    // Preact contains its own innerHTML code, which the page does not use.
    const own = text.replace(/dangerouslySetInnerHTML|\.__html|innerHTML/g, found =>
      name.startsWith('chunk') ? '' : found
    )
    t.notMatch(own, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/, name)
  }
})
