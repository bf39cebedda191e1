import { spawnSync } from 'node:child_process'
import t from 'tap'
import { runHere } from '../fixtures/service/spoor.ts'

t.test('bash completes commands, verbs and flags by the script', async t => {
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
  t.equal(complete('import', 'file', '--'), '--project --format --json --help')
  t.equal(complete('import', 'f'), '', 'the shell completes file names itself')
  t.equal(complete('nothing', ''), '')
})
