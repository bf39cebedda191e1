import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { pgDataOf } from '../../fixtures/database/embedded.ts'
import { endRecovery, prolongRecovery } from '../../fixtures/recovery.ts'
import { dataFolder, serve, start, stop, tryKey } from '../../fixtures/service/spoor.ts'
import { until } from '../../fixtures/until.ts'
import { longTest } from '../orders.ts'

/**
 * Starts a server whose PostgreSQL stays in recovery until endRecovery is called. Also returns the key that the server
 * created on its first start.
 */
async function startInRecovery(t: Test, env: NodeJS.ProcessEnv, folder: string) {
  const first = await serve(t, { ...env, DATA_DIR: folder })
  await stop(first.serving)
  await prolongRecovery(pgDataOf(folder))
  const child = start(['serve', '--json'], { ...env, DATA_DIR: folder, LOG_LEVEL: 'info' })
  t.teardown(() => child.kill('SIGKILL'))
  const greeting = text(child.stdout)
  const ended = new Promise<number | null>(resolve => child.on('close', resolve))
  let log = ''
  child.stderr.setEncoding('utf8').on('data', part => {
    log += part
  })
  const line = /\{[^\n]*"address":"([^"]+)"[^\n]*"listening while PostgreSQL recovers"/
  await until(() => line.test(log) || child.exitCode !== null)
  return { child, address: line.exec(log)?.[1] ?? '', key: first.key!, greeting, ended, log: () => log }
}

async function ready(address: string): Promise<unknown> {
  const response = await fetch(`${address}/readyz`)
  return [response.status, ((await response.json()) as { reasons: string[] }).reasons]
}

for (const PROCESSES of ['1', '2']) {
  longTest(`a server listens while PostgreSQL recovers, and reports it (PROCESSES=${PROCESSES})`, async t => {
    const folder = await dataFolder(t)
    const { child, address, key, greeting, ended, log } = await startInRecovery(t, { PROCESSES }, folder)
    t.not(address, '', log())
    t.strictSame(await ready(address), [503, ['the database is starting, recovering or stopping']])
    t.equal((await fetch(`${address}/healthz`)).status, 200)
    t.equal(await tryKey(address, key), 503)
    await endRecovery(pgDataOf(folder))
    await until(async () => (await tryKey(address, key)) === 200)
    await until(async () => (await fetch(`${address}/readyz`)).status === 200)
    await until(() => existsSync(join(folder, 'server.json')))
    child.kill('SIGTERM')
    t.equal(await ended, 0, log())
    t.match(
      JSON.parse(await greeting),
      { address, key: null, obstacle: null },
      'prints its greeting once everything works'
    )
    t.notOk(existsSync(join(pgDataOf(folder), 'postmaster.pid')), 'PostgreSQL has stopped')
  })
}

longTest('a server that is stopped while PostgreSQL recovers stops both', async t => {
  const folder = await dataFolder(t)
  const { child, greeting, ended, log } = await startInRecovery(t, {}, folder)
  child.kill('SIGTERM')
  t.equal(await ended, 0, log())
  t.equal(await greeting, '')
  t.notOk(existsSync(join(pgDataOf(folder), 'postmaster.pid')))
})
