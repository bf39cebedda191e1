import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { NODE } from '../fixtures/node.ts'
import { failuresOf } from './output.ts'

t.test('an error that nobody catches fails the suite, whose other tests run', async t => {
  const file = join(t.testdir(), 'some.js')
  const later = 'await new Promise(resolve => setTimeout(resolve, 20))'
  writeFileSync(
    file,
    `import t from ${JSON.stringify(import.meta.resolve('tap'))}
     t.test('a', async t => { setTimeout(() => { throw new Error('thrown') }, 1); ${later} })
     t.test('b', async t => { Promise.reject(new Error('rejected')); ${later} })
     t.test('c', async t => { ${later}; t.fail('asserted') })`
  )
  const run = `const { runSuite } = await import(${JSON.stringify(new URL('../suite.js', import.meta.url).href)})
    runSuite([${JSON.stringify(pathToFileURL(file).href)}])`
  const [command, ...args] = [...NODE, '--input-type=module', '--eval', run]
  const { status, stdout } = spawnSync(command!, args, { encoding: 'utf8' })
  t.equal(status, 1)
  t.same(
    failuresOf(stdout).map(failure => failure.split('\n')[0]),
    ['not ok - c > asserted', 'not ok - thrown', 'not ok - rejected']
  )
})
