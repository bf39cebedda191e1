import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { testFolder } from '../fixtures/folder.ts'
import { jsonHere, runHere } from '../fixtures/service/spoor.ts'

t.test('config shows the effective settings without secrets', async t => {
  const file = join(await testFolder(t), 'secret')
  await writeFile(file, 'hush hush hush hush')
  const key = `spoor_live_${'A'.repeat(16)}_${'h'.repeat(43)}`
  const env = {
    DATABASE_URL: 'postgres://me:hush@db.example.com/x?sslmode=require&sslpassword=hush',
    KEY_DIGEST_SECRET_FILE: file,
    KEY_DIGEST_SECRET_PREVIOUS: 'hush hush hush hush',
    SPOOR_INIT_KEY: key,
    PORT: '9000',
    BASE_URL: 'https://traces.example.com',
    OIDC_ISSUER: 'https://id.example.com',
    OIDC_CLIENT_ID: 'spoor',
    OIDC_CLIENT_SECRET: 'hush'
  }
  const shown = await jsonHere(['config'], env)
  t.match(shown, {
    variables: {
      DATABASE_URL: 'postgres://me:***@db.example.com/x?sslmode=require&sslpassword=***',
      KEY_DIGEST_SECRET_FILE: file,
      SPOOR_INIT_KEY: '***'
    },
    config: { port: 9000, host: '127.0.0.1', keyDigestSecret: '***', oidc: { clientSecret: '***' } }
  })
  const { code, out } = await runHere(['config'], env)
  t.equal(code, 0)
  t.match(out, /^VARIABLE +SET TO\n[\s\S]*\nPORT +9000\n[\s\S]*\nIN FORCE +VALUE\n[\s\S]*\nhost +127\.0\.0\.1\n/)
  t.notMatch(out + JSON.stringify(shown), /hush|hhhh/)
  t.match(await runHere(['config'], {}), { out: /^No variables are set\.\n/ })
  t.match(await runHere(['config'], { PORT: 'x' }), { code: 1, out: '', err: /^spoor: PORT must be/ })
})
