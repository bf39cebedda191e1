import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { NODE } from '../fixtures/node.ts'
import { countsOf, failuresOf } from './output.ts'

/** Runs a test in a process of its own. Returns what tap writes about it. */
function outputOf(t: import('tap').Test, source: string): string {
  const file = join(t.testdir(), 'some.js')
  writeFileSync(file, `import t from ${JSON.stringify(import.meta.resolve('tap'))}\n${source}`)
  const [command, ...args] = [...NODE, '--input-type=module', '--eval', `await import(${JSON.stringify(file)})`]
  return spawnSync(command!, args, { encoding: 'utf8' }).stdout
}

t.test('counts and failures of a process are read from its output', async t => {
  const output = outputOf(
    t,
    `t.test('a', async t => {
       t.equal(1, 1, 'one')
       t.equal('x', 'not ok 7 - in a string', 'two')
       await t.test('inner', async t => { t.same({ a: 1 }, { a: '---' }, 'three'); t.ok(true) })
       await t.test('sound', async t => { t.ok(true) })
       throw new Error('four')
     })
     t.test('skipped', { skip: 'no reason' }, async t => {})
     t.test('wrong', async t => { t.ok(false, 'five') })
     t.test('unfinished', async t => { t.plan(2); t.ok(true) })`
  )
  t.match(countsOf(output), { skipped: 1 })
  t.same(countsOf('# { total: 3, pass: 1, todo: 1, skip: 1 }'), { passed: 1, failed: 0, skipped: 2 })
  const failures = failuresOf(output)
  t.same(
    failures.map(failure => failure.split('\n')[0]!.replace(/ # time=.*/, '')),
    [
      'not ok - a > two',
      'not ok - a > inner > three',
      'not ok - a > four',
      'not ok - wrong > five',
      'not ok - unfinished > test unfinished'
    ]
  )
  t.match(failures[0], /\n +lineNumber: 4\n[\s\S]*\+x/, 'with the place and the difference')
})

t.test('sound tests have no failures', async t => {
  const output = outputOf(t, "t.test('a', async t => { t.ok(true); await t.test('b', async t => { t.ok(true) }) })")
  t.same([countsOf(output), failuresOf(output)], [{ passed: 2, failed: 0, skipped: 0 }, []])
})

t.test('a process that ends too soon has no counts, or failures', async t => {
  t.equal(countsOf(outputOf(t, "process.kill(process.pid, 'SIGKILL')")), undefined)
  const output = outputOf(t, "t.test('a', async t => { t.ok(true); process.exit(0) })")
  t.not(countsOf(output)?.failed, 0)
})
