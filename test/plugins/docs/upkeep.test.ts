/** Runs the commands of the guide's chapter on long-term operation in order, as an operator would type them. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { VARIABLES } from '../../../lib/config.ts'
import { ingestBody } from '../../fixtures/bodies/bodies.ts'
import { testDatabase } from '../../fixtures/database/database.ts'
import { testFolder } from '../../fixtures/folder.ts'
import { configurationFor, dataFolder, jsonHere, runHere, serve, tryKey } from '../../fixtures/service/spoor.ts'
import { guideCode } from './guide.ts'

const HERE = /^(?:(?<name>\w+)=(?<value>\S+) )?npx spoor (?<words>.+)$/
const EXPORT = /^export (?<name>\w+)=(?<value>.+)$/

t.test('all commands of the chapter, in order', async t => {
  const folder = await dataFolder(t)
  const elsewhere = await testFolder(t)
  const { address, key } = await serve(t, { DATA_DIR: folder })
  const body = JSON.stringify(ingestBody())
  const headers = { authorization: `Bearer ${key}` }
  t.equal((await fetch(`${address}/api/v1/traces`, { method: 'POST', headers, body })).status, 201)
  const blocks = guideCode(await (await fetch(`${address}/docs/upkeep`)).text(), 'upkeep', 'console')
  t.equal(blocks.length, 9)

  const [own] = await jsonHere(['key', 'list'], { DATA_DIR: folder })
  const database = configurationFor(await testDatabase(t))
  /** Replaces the backup's path and the key's id with those of this test. */
  const placed = (text: string) =>
    text.replace('spoor.backup', join(elsewhere, 'spoor.backup')).replace('KEYID', own.keyId)
  for (const block of blocks) {
    const env: NodeJS.ProcessEnv = { DATA_DIR: folder }
    for (const line of block.split('\n')) {
      const exported = EXPORT.exec(line)?.groups
      if (exported?.name === 'KEY_DIGEST_SECRET') {
        t.equal(exported.value, '"$(cat data/key-digest-secret)"')
        env.KEY_DIGEST_SECRET = (await readFile(join(folder, 'key-digest-secret'), 'utf8')).trim()
      } else if (exported !== undefined) {
        t.match(exported, { name: 'DATABASE_URL', value: /^postgres:\/\// })
        Object.assign(env, { ...database, KEY_DIGEST_SECRET: env.KEY_DIGEST_SECRET })
      } else {
        const { name, value, words } = HERE.exec(line)!.groups!
        if (name !== undefined) t.ok(VARIABLES.includes(name))
        const given = name === undefined ? {} : { [name]: join(elsewhere, value!) }
        const { code, out, err } = await runHere(placed(words!).split(' '), { ...env, ...given })
        t.equal(code, 0, `${line}: ${err}`)
        t.not(out, '', `${line} prints something`)
        if (words === 'project list') t.match(out, /default +Default +1 /, 'the trace exists')
      }
    }
  }
  t.equal(await tryKey(address, key!), 401, 'the key was rotated')
})
