/** `npm run fuzz -- --seconds 600 [--seed N]`: the fuzz test alone, for as long as asked. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '60' }, seed: { type: 'string' } } })
const built = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const child = spawn(process.execPath, [built('run.js'), '--timeout=0', '--reporter=tap', built('fuzz.test.js')], {
  stdio: 'inherit',
  env: {
    ...process.env,
    SPOOR_FUZZ_SECONDS: values.seconds,
    ...(values.seed !== undefined && { SPOOR_FUZZ_SEED: values.seed })
  }
})
child.on('close', code => {
  process.exitCode = code ?? 1
})
