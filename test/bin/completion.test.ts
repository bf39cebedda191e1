import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { commands } from '../../bin/commands/index.ts'
import { runHere } from '../fixtures/service/spoor.ts'

t.test('bash completes commands, verbs and flags with the script', async t => {
  const { out } = await runHere(['completion'])
  const complete = (...words: string[]) => {
    const set = `COMP_WORDS=(spoor ${words.map(word => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}; _spoor`
    const { stdout, stderr } = spawnSync('bash', ['-c', `${out}\n${set}; echo "\${COMPREPLY[*]}"`], {
      encoding: 'utf8'
    })
    t.equal(stderr, '')
    return stdout.trim()
  }
  t.equal(complete('st'), 'status')
  t.match(complete(''), /^serve status .* completion help$/)
  t.equal(complete('key', 'r'), 'rotate revoke replace-secret')
  t.equal(complete('environment', ''), 'backfill')
  t.equal(complete('project', 'recount', '--a'), '--apply')
  t.equal(complete('import', 'file', '--'), '--project --format --follow --json --help')
  t.equal(complete('import', 'f'), '', 'the shell completes file names itself')
  t.equal(complete('nothing', ''), '')
})

t.test('zsh and fish offer the same words, and installed shells can read the scripts', async t => {
  const words = Object.entries(commands).flatMap(([name, { usage }]) => [
    ...name.split(' '),
    ...Object.keys(usage.flags)
  ])
  for (const [shell, check] of [
    ['bash', '-n'],
    ['zsh', '-n'],
    ['fish', '--no-execute']
  ] as const) {
    const { out } = await runHere(['completion', shell])
    const there = new Set(out.match(/[a-z][a-z-]*/g))
    t.same(
      words.filter(word => !there.has(word)),
      [],
      shell
    )
    const file = join(t.testdir({ script: out }), 'script')
    const { error, status, stderr } = spawnSync(shell, [check, file], { encoding: 'utf8' })
    if (error === undefined) t.same([status, stderr], [0, ''], shell)
    else t.comment(`${shell} is not installed, so its script was not checked`)
  }
  t.match(await runHere(['completion', 'tcsh']), { code: 2, err: /SHELL must be one of bash, zsh, fish/ })
})
