/** Few files know that a database may be spread over a cluster: those of lib/cluster, and these. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))
const DOOR = 'lib/cluster/'
/** Words of Citus, and imports from behind the door. "The cluster" also is what PostgreSQL calls a data folder. */
const KNOWS = /citus|shard|coordinator|distribut|isSpread|\/cluster\/|\b[ao]n? (?:a )?cluster\b/i
/** PostgreSQL's own clusters. */
const EMBEDDED = /^lib\/(?:database\/embedded|moving\/upgrade)\//

/** This list may only shrink. */
const OUTSIDE = [
  // The commands that spread a database, give a project a shard, and show the nodes.
  'bin/commands/migrate.ts',
  'bin/commands/project.ts',
  'bin/commands/status.ts',
  'lib/admin/status.ts',
  // How Citus words its errors, and plans.
  'lib/database/spread.ts',
  // Whether a server may serve, and its two ways in: batches and reads.
  'lib/health/setup.ts',
  'lib/ingest/lanes.ts',
  'lib/service.ts'
]

t.test('no file but eight knows of the cluster', t => {
  const files = ['bin', 'lib', 'plugins', 'workers'].flatMap(folder =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter(name => /\.tsx?$/.test(name))
      .map(name => join(folder, name))
  )
  const outside = files.filter(file => !file.startsWith(DOOR) && !EMBEDDED.test(file))
  const knowing = outside.filter(file => KNOWS.test(readFileSync(join(ROOT, file), 'utf8')))
  t.same(knowing.sort(), OUTSIDE)
  t.ok(OUTSIDE.length <= 8)
  t.end()
})
