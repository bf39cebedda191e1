import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { spawnNode } from '../fixtures/node.ts'
import { readOptions } from './options.ts'
import { readReadsOptions } from './reads/options.ts'
import { readTreesOptions, serviceOf } from './trees/options.ts'

const BENCH = fileURLToPath(new URL('bench.js', import.meta.url))

function run(...parameters: string[]) {
  const child = spawnNode([BENCH, ...parameters])
  return Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
}

t.test('an invalid command line is rejected in one line', async t => {
  const [out, err, [code]] = await run('--case', 'huge')
  t.equal(code, 2)
  t.equal(out, '')
  t.match(err, /^bench: .+\n$/)
})

const UNUSABLE: readonly [read: (parameters: string[]) => object, parameters: string[]][] = [
  [readOptions, ['--seconds', '0']],
  [readOptions, ['--runs', '1.5']],
  [readOptions, ['--stored', '20G']],
  [readOptions, ['--database', 'mysql://localhost']],
  [readOptions, ['--nothing']],
  [readReadsOptions, ['--stored', '10k']],
  [readReadsOptions, ['--stored', 'many']],
  [readReadsOptions, ['--requests', '0']],
  [readReadsOptions, ['--case', 'small']],
  [readTreesOptions, ['.']],
  [readTreesOptions, [tmpdir(), tmpdir()]],
  [readTreesOptions, ['--kind', 'huge', '.', '.']],
  [readTreesOptions, ['--rounds', '0', '.', '.']],
  [readTreesOptions, ['--nothing', '.', '.']]
]
for (const [read, parameters] of UNUSABLE) {
  t.test(`${read.name} rejects ${parameters.join(' ')} in one line`, async t => {
    t.throws(() => read(parameters), { name: 'UsageError', message: /^.+$/ })
  })
}

t.test('--help describes the command', async t => {
  const [out, , [code]] = await run('--help')
  t.equal(code, 0)
  t.match(out, 'npm run bench -- [flags]')
})

t.test('the current working tree can be measured', async t => {
  t.type(serviceOf(fileURLToPath(new URL('../../..', import.meta.url))), 'string')
  t.equal(serviceOf(tmpdir()), undefined)
})
