import { readConfig } from '../../lib/config.ts'
import { command } from '../command.ts'
import { openFor } from '../database.ts'

export default command({
  summary: 'Bring the schema of the database up to this version',
  usage: {
    parameters: [],
    flags: {},
    details: '`spoor serve` does this by itself, unless AUTO_MIGRATE=false. An embedded database is made if need be.',
    examples: ['migrate', 'migrate --json']
  },
  async run({ env, print }) {
    const { migrate } = await import('../../lib/database/migrate.ts')
    const applied = await openFor(readConfig(env), migrate)
    const text = applied.length === 0 ? 'the schema is up to date' : `applied migration ${applied.join(', ')}`
    print({ applied }, text)
  }
})
