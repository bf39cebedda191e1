/** Runs the commands of the guide's section on syncing, as a warehouse's nightly job would. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { ingestBody, span } from '../../fixtures/bodies/bodies.ts'
import { testFolder } from '../../fixtures/folder.ts'
import { testService } from '../../fixtures/service/service.ts'
import { runHere } from '../../fixtures/service/spoor.ts'
import { guideCode } from './guide.ts'

t.test('the commands of the section produce the documented output', async t => {
  const { call, url, key } = await testService(t)
  const folder = await testFolder(t)
  const now = new Date().toISOString()
  const body = ingestBody({ startedAt: now, endedAt: now, spans: [span({ startedAt: now, endedAt: now })] })
  t.equal((await call('POST', '/api/v1/traces', { body })).status, 201)
  const score = { name: 'quality', dataType: 'numeric', value: 1 }
  t.equal((await call('POST', `/api/v1/traces/${body.trace.id}/scores`, { body: score })).status, 201)
  const [block = ''] = guideCode((await call('GET', '/docs/sums')).text, 'sync', 'console')
  const lines = block.split('\n')
  t.equal(lines.length, 3)
  for (const line of lines) {
    const { words } = /^npx spoor (?<words>.+) > [\w.]+$/.exec(line)!.groups!
    const args = words!.split(' ').map(word => (word.endsWith('.cursor') ? join(folder, word) : word))
    const { code, out, err } = await runHere(args, { SPOOR_URL: url, SPOOR_API_KEY: key })
    t.equal(code, 0, err)
    t.match(out, words!.includes('csv') ? /,quality,/ : words!.includes('parquet') ? /^PAR1.*PAR1$/s : body.trace.id)
  }
  for (const name of ['spans', 'scores']) t.match(await readFile(join(folder, `${name}.cursor`), 'utf8'), /^[\w-]+\n$/)
})
