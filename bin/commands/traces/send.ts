import { statSync } from 'node:fs'
import { readOptions } from '../../../clients/typescript/options.ts'
import { AdminError } from '../../../lib/admin-error.ts'
import { command, UsageError } from '../../command.ts'

export default command({
  summary: 'Send traces that an application stored on disk while the server was unreachable',
  parameters: ['DIR'],
  flags: {
    key: { type: 'string', value: 'KEY', about: 'the API key to use; SPOOR_API_KEY by default' },
    url: {
      type: 'string',
      value: 'URL',
      about: "the server's address; defaults to SPOOR_URL, or else http://127.0.0.1:8787"
    },
    'any-key': { type: 'boolean', about: "also send traces recorded with other keys, to this key's project" },
    wait: { type: 'string', value: 'SECONDS', about: 'how many seconds to keep trying; 60 by default' }
  },
  details:
    "DIR is the spoor-client spool, by default .spoor in the application's folder. An application sends its own" +
    '\nspool when it next starts. Files in use by running applications are left alone. Sending a trace twice is ' +
    'harmless.\nTraces recorded with a key for another project or environment stay in DIR and are counted.',
  examples: ['send ./.spoor', 'send /var/spool/app --url https://spoor.example.com --key "$SPOOR_API_KEY"'],
  async run({ parameters, flags, env, print }) {
    // Every user of this machine can read the command lines of running processes, so setting the title hides the key.
    if (flags.key !== undefined) process.title = 'spoor send'
    const folder = parameters.DIR
    const seconds = Number(flags.wait ?? 60)
    if (!(seconds > 0 && seconds <= 86_400)) throw new UsageError('--wait must be a number of seconds, at most 86400')
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
      throw new AdminError(`there is no folder ${folder}`)
    const url = flags.url ?? env.SPOOR_URL
    const key = flags.key ?? env.SPOOR_API_KEY
    if (!key) throw new AdminError('API key required: set SPOOR_API_KEY, or pass --key')
    // Imported here because other commands do not need undici.
    const { Spoor } = await import('../../../clients/typescript/index.ts')
    const options = { spool: folder, key, url, onProblem: () => {} }
    const { obstacle } = readOptions(options, env)
    if (obstacle !== undefined) throw new AdminError(obstacle)
    const spoor = new Spoor(options)
    const end = Date.now() + seconds * 1000
    // Each call to `adopt` takes over a limited number of files.
    while ((await spoor.adopt({ anyKey: flags['any-key'] })) > 0)
      if ((await spoor.flush({ timeoutMs: Math.max(1, end - Date.now()) })).kept > 0) break
    const { left } = spoor
    const { sent, kept, lost, lostCount, problems } = await spoor.close({ timeoutMs: 1 })
    const rows = lost.map(({ traceId, name, reason }) => `  lost: ${traceId} ${name}: ${reason}`)
    const why = kept > 0 ? problems.slice(-1).map(problem => `  ${problem}`) : []
    const counts = `Sent ${sent} traces from ${folder}; ${kept} are still there, and ${lostCount} were lost.`
    const others =
      left > 0 ? [`  ${left} were recorded with other keys and were not sent: pass their key, or add --any-key`] : []
    print({ sent, kept, left, lost, problems }, [counts, ...why, ...others, ...rows].join('\n'))
    if (kept + lostCount > 0)
      throw new AdminError(`${kept} traces have not been sent, and ${lostCount} were lost: see above`)
    if (left > 0) throw new AdminError(`${left} traces were recorded with other keys and were not sent`)
  }
})
