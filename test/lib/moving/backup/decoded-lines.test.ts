import t from 'tap'
import { decodeLines } from '../../../../lib/moving/backup/decoded-lines.ts'
import { readBackup } from '../../../../lib/moving/backup/read-backup.ts'
import { backupOf, fullInstance, inPieces } from '../../../fixtures/database/backups.ts'

t.test('pages are decoded if their project is restored, and counted otherwise', async t => {
  const backup = await backupOf((await fullInstance(t)).database)
  const decoded = async (slug?: string) => {
    const counts: (number | null)[] = []
    for await (const line of decodeLines(readBackup(inPieces(backup)), slug)) {
      if (line.name === 'rows') counts.push(line.value?.traces.length ?? null)
    }
    return counts
  }
  const all = await decoded()
  t.notOk(all.includes(null))
  const [one, other] = [await decoded('default'), await decoded('second')]
  t.same([one.length, other.length], [all.length, all.length])
  for (const [i, count] of all.entries()) {
    t.equal(one[i] ?? other[i], count)
    t.ok(one[i] === null || other[i] === null)
  }
  t.ok(other.some(count => count !== null))
})
