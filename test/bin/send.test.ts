import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Spoor } from '../../clients/typescript/index.ts'
import { testFolder } from '../fixtures/folder.ts'
import { freePort } from '../fixtures/ports.ts'
import { testService } from '../fixtures/service/service.ts'
import { jsonHere, runHere } from '../fixtures/service/spoor.ts'

t.test('spoor send sends the traces that an application left on disk, or explains why not', async t => {
  const { url, key, call, makeKey, makeProject } = await testService(t)
  const folder = join(await testFolder(t), 'spool')
  const nowhere = `http://127.0.0.1:${await freePort()}`
  const spoor = new Spoor({ url: nowhere, key, spool: folder, onProblem: () => {} })
  const { traceId } = spoor.trace('kept', trace => trace.score('later', 1))
  spoor.trace('kept', () => 2)
  await spoor.close({ timeoutMs: 50 })
  t.equal(readdirSync(folder).length, 2)

  const away = await runHere(['send', folder, '--wait', '3'], { SPOOR_URL: nowhere, SPOOR_API_KEY: key })
  t.match(away, {
    code: 1,
    out: /^Sent 0 traces.*; 2 are still there, and 0 were lost\.\n.*ECONNREFUSED/,
    err: /have not been sent/
  })
  t.equal(readdirSync(folder).length, 2)
  t.match(await jsonHere(['send', folder, '--url', url, '--key', key]), { sent: 2, kept: 0, lost: [] })
  t.same(readdirSync(folder), [])
  t.match((await call('GET', `/api/v1/traces/${traceId}`)).body.trace, {
    name: 'kept',
    scores: { later: { value: 1 } }
  })

  const other = new Spoor({ url: nowhere, key: (await makeKey()).key, spool: folder, onProblem: () => {} })
  other.trace('of another key', () => 3)
  await other.close({ timeoutMs: 50 })
  await makeProject('elsewhere')
  const { key: elsewhere } = await makeKey({ project: 'elsewhere' })
  const env = { SPOOR_URL: url, SPOOR_API_KEY: elsewhere }
  t.match(await runHere(['send', folder], env), {
    code: 1,
    out: /^Sent 0 traces.*\n {2}1 were recorded with other keys and were not sent/,
    err: /1 traces were recorded with other keys and were not sent/
  })
  t.equal(readdirSync(folder).length, 1)
  t.match(await jsonHere(['send', folder, '--any-key'], env), { sent: 1, kept: 0, left: 0 })
  t.same(readdirSync(folder), [])

  t.match(await runHere(['send', `${folder}/none`], { SPOOR_API_KEY: key }), { code: 1, err: /there is no folder/ })
  t.match(await runHere(['send', 'package.json'], { SPOOR_API_KEY: key }), { code: 1, err: /there is no folder/ })
  t.match(await runHere(['send', folder, '--url', 'ftp://x'], { SPOOR_API_KEY: key }), {
    code: 1,
    err: /the url must begin with http:\/\/ or https:\/\/, not ftp:\/\/x/
  })
  t.match(await runHere(['send', folder], { SPOOR_API_KEY: 'ké' }), { code: 1, err: /the key has invalid characters/ })
  t.match(await runHere(['send', folder], {}), { code: 1, err: /API key required/ })
  t.match(await runHere(['send', folder, '--wait', 'x'], { SPOOR_API_KEY: key }), { code: 2, err: /--wait must be/ })
})
