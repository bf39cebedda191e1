/**
 * Checks that only the files of lib/cluster and the files listed here depend on whether a database is distributed over
 * a cluster.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))
const DOOR = 'lib/cluster/'
/**
 * Matches Citus's terms, and imports from lib/cluster. Does not match `distribution`, because scores have
 * distributions, and matches `cluster` only in some phrases, because PostgreSQL calls a data folder a cluster.
 */
const KNOWS = /citus|shard|coordinator|distributed|isSpread|\/cluster\/|\b[ao]n? (?:a )?cluster\b/i
/** The files about PostgreSQL's own clusters. */
const EMBEDDED = /^lib\/(?:database\/embedded|moving\/upgrade)\//

/** This list must not grow. */
const OUTSIDE = [
  // The commands that distribute a database, move a project to its own shard, and show the nodes.
  'bin/commands/migrate.ts',
  'bin/commands/project.ts',
  'bin/commands/status.ts',
  'lib/admin/status.ts',
  // The wording of Citus's errors and plans.
  'lib/database/spread.ts',
  // The check whether a server may serve requests, and the code for batches and for reads.
  'lib/health/setup.ts',
  'lib/ingest/lanes.ts',
  'lib/service.ts'
]

t.test('only eight files know about the cluster', t => {
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
