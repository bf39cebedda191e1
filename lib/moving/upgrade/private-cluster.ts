/** Runs a PostgreSQL server to which only the upgrade can connect. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { AdminError } from '../../admin-error.ts'
import { connectorTo, connectTo, type SocketTarget, transportOf } from '../../database/connection.ts'
import type { Database } from '../../database/database.ts'
import { claimAlone } from '../../database/embedded/cluster-lock.ts'
import { chooseSettings } from '../../database/embedded/cluster-settings.ts'
import { type DataHome, prepareSocketFolder } from '../../database/embedded/folders.ts'
import { readDisk } from '../../database/embedded/free-disk.ts'
import {
  inspectPostmaster,
  MAIN_DATABASE,
  type Runner,
  removeCopiedLock,
  removeStaleFile,
  SOCKET_PORT,
  SUPERUSER,
  startPostmaster,
  stopPostmaster
} from '../../database/embedded/postmaster.ts'
import { nodesOf } from '../../database/open.ts'
import { ConnectionLimit } from '../../database/pooled/connection-limit.ts'

const POLL_MS = 100
/** Connection limit. Exceeds the number of connections that a restore's lanes open; nothing else connects. */
const CONNECTIONS = 50

export interface ClusterSecrets {
  readonly password: string
  readonly digestSecret: string
}

/**
 * Runs the `work` callback on a home's PostgreSQL server, to which no other process can connect. First stops a
 * PostgreSQL server that was left running. Throws an AdminError if a process is using that server.
 */
export async function withPrivate<T>(
  runner: Runner,
  home: DataHome,
  secrets: ClusterSecrets,
  work: (database: Database) => Promise<T>
): Promise<T> {
  const { pgData, user } = home
  const { password, digestSecret } = secrets
  await stopLeftOver(home, password)
  await removeStaleFile(pgData, user)
  const socketDir = await prepareSocketFolder(home)
  await removeCopiedLock(socketDir, pgData, user)
  const settings = chooseSettings((await readDisk(pgData))?.totalBytes)
  const child = await startPostmaster(runner, { dataDir: pgData, socketDir, settings, onLine: () => {} })
  const target = targetIn(socketDir, password)
  const door = connectTo(target, { applicationName: 'upgrade' })
  const stop = async () => {
    await door.end({ timeout: 1 })
    await stopPostmaster(child.pid!, pgData)
    child.stderr?.destroy()
  }
  try {
    await requireAlone(door)
    return await work({
      connect: connectorTo(target),
      limit: new ConnectionLimit(CONNECTIONS, () => {}),
      node: nodesOf(target, () => new ConnectionLimit(CONNECTIONS)),
      location: `PostgreSQL in ${pgData}`,
      transport: transportOf(target),
      embedded: true,
      digestSecret,
      close: stop
    })
  } finally {
    await stop()
  }
}

/**
 * Stops a PostgreSQL server that a killed process left running. Throws an AdminError if a process is using that server.
 */
export async function stopLeftOver({ pgData }: Pick<DataHome, 'pgData'>, password: string): Promise<void> {
  for (;;) {
    const found = await inspectPostmaster(pgData)
    if (found.state === 'stopped') return
    // PostgreSQL is starting, recovering or stopping, and will soon be running or stopped.
    if (found.state === 'busy') await delay(POLL_MS)
    else {
      const door = connectTo(targetIn(found.socketDir, password), { applicationName: 'upgrade' })
      try {
        await requireAlone(door)
      } finally {
        await door.end({ timeout: 1 })
      }
      await stopPostmaster(found.pid, pgData)
    }
  }
}

async function requireAlone(door: Sql): Promise<void> {
  if (!(await claimAlone(door))) throw new AdminError('another command is using the database: wait until it finishes')
}

const targetIn = (socketDir: string, password: string): SocketTarget => ({
  socketDir,
  port: SOCKET_PORT,
  user: SUPERUSER,
  password,
  database: MAIN_DATABASE
})
