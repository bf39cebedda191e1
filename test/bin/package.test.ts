import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { testFolder } from '../fixtures/folder.ts'

t.test('npm ci without what only development needs does not fail for want of a compiler', async t => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  const said = execFileSync('sh', ['-c', scripts.prepare], { cwd: await testFolder(t), encoding: 'utf8' })
  t.match(said, /^not built: /)
})
