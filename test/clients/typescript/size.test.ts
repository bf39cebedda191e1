/**
 * Limits the size that the client adds to a bundle, excluding the wrappers of model clients. Unlike times,
 * sizes are the same on each machine, so tests may assert them.
 */
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build, type Plugin } from 'esbuild'
import t from 'tap'

const ENTRY = fileURLToPath(new URL('../../../../clients/typescript/index.ts', import.meta.url))

/**
 * Returns the compressed size of the code that an application loads at startup, including the files named in `besides`.
 * If `besides` is undefined, returns the size of all code.
 */
async function sizeWith(besides: readonly string[] | undefined): Promise<number> {
  const apart: Plugin = {
    name: 'apart',
    setup: ({ onResolve }) =>
      onResolve({ filter: /./ }, ({ kind, path }) =>
        kind === 'dynamic-import' && besides?.some(name => path.endsWith(`/${name}.ts`)) === false
          ? { path, external: true }
          : undefined
      )
  }
  const format = {
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    write: false
  } as const
  const { outputFiles } = await build({ ...format, entryPoints: [ENTRY], plugins: [apart] })
  return gzipSync(outputFiles[0]!.contents, { level: 9 }).length
}

t.test('the client is small', async t => {
  const [start, sending, all] = [await sizeWith([]), await sizeWith(['sender', 'transport']), await sizeWith(undefined)]
  t.comment(`${start} bytes at startup, ${sending} with the sender, ${all} with everything that is loaded on demand`)
  t.ok(start <= 14_000, `${start}`)
  t.ok(sending <= 18_500, `${sending}`)
  t.ok(all <= 20_000, `${all}`)
})
