/** A PostgreSQL server on a TCP port, with or without TLS. It has an embedded server's settings and its own folder. */
import { spawn } from 'node:child_process'
import { chmod, copyFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { connectTo } from '../../../lib/database/connection.ts'
import { findBinaries } from '../../../lib/database/embedded/binaries.ts'
import { chooseSettings } from '../../../lib/database/embedded/cluster-settings.ts'
import { findClusterUser, giveTo, identityOf } from '../../../lib/database/embedded/cluster-user.ts'
import {
  initializeCluster,
  MAIN_DATABASE,
  SUPERUSER,
  stopPostmaster
} from '../../../lib/database/embedded/postmaster.ts'
import { createLog } from '../../../lib/log.ts'
import { findFreePort } from './port.ts'
import type { Undo } from './undo.ts'

const PASSWORD = 'pass-phrase-of-the-benchmark'
/** The certificates are read from the source tree, because the build does not copy them. */
const CERTIFICATES = fileURLToPath(new URL('../../../../test/lib/database/sockets/tls/', import.meta.url))
const POLL_MS = 50

/** Starts PostgreSQL in a folder that its user can reach. Returns the address without `sslmode`. `undo` stops it. */
export async function startTcpDatabase(folder: string, undo: Undo): Promise<string> {
  const user = findClusterUser()
  const binaries = await findBinaries(user, createLog('warn'))
  const home = join(folder, 'tcp')
  await mkdir(home)
  await giveTo(user, home)
  const dataDir = join(home, 'data')
  await initializeCluster({ user, binaries }, dataDir, PASSWORD)
  for (const name of ['localhost.pem', 'localhost.key']) {
    await copyFile(join(CERTIFICATES, name), join(dataDir, name))
    await chmod(join(dataDir, name), 0o600)
    await giveTo(user, join(dataDir, name))
  }
  const port = await findFreePort()
  const settings: Record<string, string> = {
    ...chooseSettings(),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    ssl: 'on',
    ssl_cert_file: 'localhost.pem',
    ssl_key_file: 'localhost.key'
  }
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const child = spawn(binaries.postgres, ['-D', dataDir, '-p', String(port), ...flags], {
    ...identityOf(user),
    cwd: dataDir,
    detached: true,
    stdio: 'ignore'
  })
  undo.add(() => stopPostmaster(child.pid!, dataDir))
  const url = `postgres://${SUPERUSER}:${PASSWORD}@127.0.0.1:${port}/${MAIN_DATABASE}`
  await untilItAnswers(`${url}?sslmode=require`, () => child.exitCode === null)
  return url
}

async function untilItAnswers(url: string, isAlive: () => boolean): Promise<void> {
  while (isAlive()) {
    const sql = connectTo(url)
    try {
      await sql`select`
      return
    } catch {
      await delay(POLL_MS)
    } finally {
      await sql.end({ timeout: 1 })
    }
  }
  throw new Error('PostgreSQL did not start with TLS')
}
