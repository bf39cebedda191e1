/**
 * Runs a command in the network namespace in which `unshare` has started this program. The namespace has only a
 * loopback interface. On each port that the command may reach, this program relays connections through a Unix socket to
 * the same port outside.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer, type Server } from 'node:net'

const { sockets, command } = JSON.parse(String(process.argv[2])) as Inside

const DRAIN_MS = 10_000

export interface Inside {
  /** The path of a Unix socket for each port. */
  readonly sockets: Readonly<Record<string, string>>
  readonly command: readonly [string, ...string[]]
}

const { status, stderr } = spawnSync('ip', ['link', 'set', 'lo', 'up'], { encoding: 'utf8' })
if (status !== 0) throw new Error(`loopback does not come up: ${stderr}`)
const relays: Server[] = []
for (const [port, path] of Object.entries(sockets)) {
  const relay = createServer(from => {
    const to = connect(path)
    from.pipe(to).pipe(from)
    from.on('error', () => to.destroy())
    to.on('error', () => from.destroy())
  })
  relays.push(relay)
  await once(relay.listen(Number(port), '127.0.0.1'), 'listening')
}
const [program, ...parameters] = command
const child = spawn(program, parameters, { stdio: 'inherit' })
child.on('exit', code => {
  process.exitCode = code ?? 1
  for (const relay of relays) relay.close()
  // The program's last bytes may still be in transit. A process that the program leaves behind may hold a connection.
  setTimeout(() => process.exit(), DRAIN_MS).unref()
})
