/**
 * Runs containers for tests. Debian's packages buildah, podman and runc need no daemon. A Dockerfile's base images come
 * from their registry. If the registry is unreachable, the images are built from Debian packages (debootstrap), and
 * from node and npm as distributed on npm.
 */
import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { testFolder } from '../../fixtures/folder.ts'
import { type Finished, missing, run, succeed } from './programs.ts'

const DEBIAN = 'docker.io/library/debian'
const NODE = 'docker.io/library/node'
/** The newest version that is distributed with Node 24. */
const NPM = 'npm@11'
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'

/** Returns the reason why containers cannot run on this machine; undefined if they can. */
export function lacksContainers(): string | undefined {
  if (process.getuid?.() !== 0) return 'only root is tried with'
  return missing(['buildah', 'podman', 'runc', 'debootstrap'])
}

export interface Containers {
  /** Provides the images `node:NODE-DEBIAN-slim` and `debian:DEBIAN-slim`. Returns their origin. */
  prepare(node: string, debian: string): Promise<string>
  build(image: string, dockerfile: string, context: string, ...flags: string[]): Promise<void>
  podman(...args: string[]): Promise<Finished>
  /** Starts a container that uses this machine's network. */
  start(name: string, flags: readonly string[], image: string, ...command: string[]): Promise<void>
  /** Runs a script in a container. Throws if the script fails. */
  shell(name: string, script: string): Promise<string>
}

/** Opens a store for containers. The store is removed after the test. */
export async function openContainers(t: Test): Promise<Containers> {
  const folder = await testFolder(t)
  const places = ['--root', join(folder, 'store'), '--runroot', join(folder, 'run')]
  const options = ['--cgroup-manager=cgroupfs', '--events-backend=none', '--runtime=runc', '--log-level=fatal']
  const podman = (...args: string[]) => run('podman', [...places, ...options, ...args])
  t.teardown(async () => {
    await podman('rm', '--force', '--all', '--time', '5')
    await podman('rmi', '--force', '--all')
    await run('umount', [join(folder, 'store/overlay')])
  })
  const build = async (image: string, dockerfile: string, context: string, ...flags: string[]) => {
    const own = ['--format=docker', '--isolation=chroot', '--pull-never', '--tag', image, '--file', dockerfile]
    await succeed('buildah', [...places, 'bud', ...own, ...flags, context])
  }
  const pull = async (image: string) =>
    (await run('buildah', [...places, 'pull', image], { mostMs: 60_000 })).code === 0

  async function make(node: string, debian: string): Promise<void> {
    const parts = join(folder, 'parts')
    await mkdir(parts)
    await succeed('debootstrap', ['--variant=minbase', debian, join(folder, 'debian')])
    await succeed('tar', ['-C', join(folder, 'debian'), '-cf', join(parts, 'debian.tar'), '.'])
    for (const [name, pack] of [
      ['node', `node-linux-${process.arch}@${node}`],
      ['npm', NPM]
    ] as const) {
      const file = JSON.parse(await succeed('npm', ['pack', '--json', pack], { cwd: parts }))
      const { filename } = Array.isArray(file) ? file.at(-1) : (Object.values(file).at(-1) as { filename: string })
      await mkdir(join(parts, name))
      await succeed('tar', ['-xzf', filename, '-C', name, '--strip-components=1'], { cwd: parts })
    }
    await writeFile(join(parts, 'Debian'), 'FROM scratch\nADD debian.tar /\n')
    await build(`${DEBIAN}:${debian}-slim`, join(parts, 'Debian'), parts)
    // The certificates with which this machine reaches registries.
    await copyFile(CERTIFICATES, join(parts, 'certificates'))
    const lines = [
      `FROM ${DEBIAN}:${debian}-slim`,
      'COPY node/bin/node /usr/local/bin/node',
      'COPY npm /usr/local/lib/node_modules/npm',
      `COPY certificates ${CERTIFICATES}`,
      'RUN for name in npm npx; do ln -s ../lib/node_modules/npm/bin/$name-cli.js /usr/local/bin/$name; done',
      `ENV NODE_EXTRA_CA_CERTS=${CERTIFICATES}`,
      ''
    ]
    await writeFile(join(parts, 'Node'), lines.join('\n'))
    await build(`${NODE}:${node}-${debian}-slim`, join(parts, 'Node'), parts)
  }

  return {
    async prepare(node, debian) {
      const images = [`${NODE}:${node}-${debian}-slim`, `${DEBIAN}:${debian}-slim`]
      if ((await Promise.all(images.map(pull))).every(isPulled => isPulled)) return 'the registry'
      await make(node, debian)
      return `debootstrap and npm's node-linux-${process.arch}`
    },
    build,
    podman,
    async start(name, flags, image, ...command) {
      // A machine that is itself a container may not raise the limits that podman would raise.
      const limits = ['--ulimit=nofile=1024:1024', '--ulimit=nproc=4096:4096']
      const { code, err } = await podman(
        'run',
        '-d',
        '--name',
        name,
        '--network=host',
        ...limits,
        ...flags,
        image,
        ...command
      )
      if (code !== 0) throw new Error(err)
    },
    async shell(name, script) {
      const { code, out, err } = await podman('exec', name, 'bash', '-euc', script)
      if (code !== 0) throw new Error(`${script}: ${out}${err}`)
      return out
    }
  }
}
