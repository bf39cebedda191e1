/**
 * `npm run test:python [-- --python python3.14 --long -k NAME …]`: runs the Python client's tests (clients/python)
 * against a server that they may stop and kill, with the Python on the path or the one that `--python` names. Other
 * arguments are passed to pytest; `--long` includes tests that take minutes. If there is no suitable Python, prints a
 * message and passes, unless `--python` asked for it. `--oldest` runs only the tests of the wrappers, with the oldest
 * libraries that the client's README names. node_modules/.cache keeps the installed packages of each version.
 */
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Spoor, startSpoor } from './libraries/spoor.ts'

const CLIENT = fileURLToPath(new URL('../../clients/python/', import.meta.url))
const EXAMPLES = fileURLToPath(new URL('../../plugins/docs/examples/', import.meta.url))
/** The tests that run with the oldest libraries. */
const OLDEST_TESTS = [
  'tests/wrapping/test_wires.py',
  'tests/wrapping/test_others.py',
  'tests/integrations/test_langchain.py',
  // Early versions of google-genai hide errors in streams from the application, and so from the wrapper.
  '--deselect=tests/wrapping/test_wires.py::test_a_recorded_exchange[google-genai: an error event]'
]
const CACHE = fileURLToPath(new URL('../../node_modules/.cache', import.meta.url))
/** The minimum version, as in pyproject.toml. */
const OLDEST = [3, 10] as const

/** The reason why the tests cannot run on this machine. */
class Missing extends Error {}

process.exitCode = await main(process.argv.slice(2))

async function main(parameters: readonly string[]): Promise<number> {
  const [asked, given] = takePython(parameters)
  const isOldest = given.includes('--oldest')
  const others = given.filter(parameter => parameter !== '--oldest')
  let python: string
  try {
    python = makeEnvironment(asked ?? 'python3', isOldest)
  } catch (error) {
    if (!(error instanceof Missing) || asked !== undefined) throw error
    console.log(`The client for Python is not tested: ${error.message}`)
    return 0
  }
  const checks = [
    ['mypy', '--no-error-summary', '--cache-dir', join(python, '../../mypy')],
    ['ruff', 'check', '--quiet', '--no-cache'],
    ['ruff', 'format', '--check', '--quiet', '--no-cache'],
    // The guide's lines have at most 88 characters, which is also ruff's default.
    ['ruff', 'check', '--quiet', '--no-cache', '--isolated', '--select', 'E,F,W', EXAMPLES],
    ['ruff', 'format', '--check', '--quiet', '--no-cache', '--isolated', EXAMPLES]
  ].map(check => (isOldest ? 0 : run(python, ['-m', ...check])))
  const spoor = await startSpoor()
  try {
    const tests = await runTests(spoor, python, isOldest ? [...OLDEST_TESTS, ...others] : others)
    return checks.every(status => status === 0) ? tests : 1
  } finally {
    await spoor.close()
  }
}

/** Returns the Python that `--python` names, and the other parameters. */
function takePython(parameters: readonly string[]): [asked: string | undefined, others: readonly string[]] {
  const at = parameters.indexOf('--python')
  return at < 0 ? [undefined, parameters] : [parameters[at + 1], parameters.toSpliced(at, 2)]
}

/** Creates the virtual environment of a Python, unless it exists with exactly these packages. Returns its Python. */
function makeEnvironment(python: string, isOldest: boolean): string {
  const found = spawnSync(python, ['-c', 'import sys, venv, ensurepip; print(*sys.version_info[:2])'])
  const [major = 0, minor = 0] = found.status === 0 ? String(found.stdout).trim().split(' ').map(Number) : []
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
    throw new Missing(
      `${python} ${OLDEST.join('.')} or later, with its modules venv and ensurepip, is needed on the path`
    )
  }
  const requirements = join('tests', isOldest ? 'requirements-oldest.txt' : 'requirements.txt')
  const environment = join(CACHE, `spoor-python-${major}.${minor}${isOldest ? '-oldest' : ''}`)
  const inside = join(environment, 'bin', 'python')
  const mark = join(environment, 'installed')
  const digest = createHash('sha256')
    .update(readFileSync(join(CLIENT, requirements)))
    .digest('hex')
  if (existsSync(mark) && readFileSync(mark, 'utf8').trim() === digest) return inside
  console.log(`installing ${requirements}`)
  rmSync(environment, { recursive: true, force: true })
  mkdirSync(environment, { recursive: true })
  const quiet = ['--quiet', '--disable-pip-version-check', '--prefer-binary']
  if (
    run(python, ['-m', 'venv', environment]) !== 0 ||
    run(inside, ['-m', 'pip', 'install', ...quiet, '-r', requirements]) !== 0
  ) {
    throw new Missing('the packages of its tests cannot be installed')
  }
  writeFileSync(mark, `${digest}\n`)
  return inside
}

function run(command: string, args: readonly string[]): number | null {
  return spawnSync(command, args, { cwd: CLIENT, stdio: ['ignore', 'inherit', 'inherit'] }).status
}

async function runTests(spoor: Spoor, python: string, parameters: readonly string[]): Promise<number> {
  const key = await spoor.makeKey('python')
  const control = createServer((request, response) => void obey(spoor, request, response))
  await once(control.listen(0, '127.0.0.1'), 'listening')
  try {
    const child = spawn(python, ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', ...parameters], {
      cwd: CLIENT,
      stdio: ['ignore', 'inherit', 'inherit'],
      env: {
        ...process.env,
        PYTHONPATH: CLIENT,
        PYTHONDONTWRITEBYTECODE: '1',
        SPOOR_URL: spoor.url,
        SPOOR_API_KEY: key,
        SPOOR_TEST_CONTROL: `http://127.0.0.1:${(control.address() as AddressInfo).port}`
      }
    })
    const [code] = (await once(child, 'close')) as [number | null]
    return code ?? 1
  } finally {
    control.close()
    control.closeAllConnections()
  }
}

/**
 * Lets tests stop, kill and restart the server: `POST /SIGKILL`, `POST /SIGTERM`, `POST /start`. `POST /run` runs a
 * command, whose arguments are the body as a JSON list, and responds with the command's output.
 */
async function obey(spoor: Spoor, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { url = '' } = request
  try {
    if (url === '/run') {
      const words = JSON.parse(Buffer.concat(await request.toArray()).toString())
      response.end(JSON.stringify(await spoor.run(words)))
      return
    }
    if (url === '/start') await spoor.resume()
    else await spoor.pause(url.slice(1) as 'SIGTERM' | 'SIGKILL')
    response.end('{}')
  } catch (error) {
    response.writeHead(500).end(String(error))
  }
}
