import fc from 'fast-check'
import t from 'tap'
import { backupName, outdatedBackups } from '../../../../lib/moving/backup/kept-backups.ts'

t.test('the newest backups are kept, and other files are never chosen', async t => {
  const times = fc.uniqueArray(fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true }), {
    selector: date => Math.floor(date.getTime() / 1000)
  })
  const others = fc.array(
    fc.constantFrom('spoor.backup', 'spoor-may.backup', `${backupName(new Date(0))}.partial`, 'x')
  )
  fc.assert(
    fc.property(times, others, fc.integer({ min: 1, max: 10 }), (dates, names, keep) => {
      const sorted = [...dates].sort((a, b) => a.getTime() - b.getTime()).map(backupName)
      const expected = sorted.slice(0, Math.max(0, sorted.length - keep))
      t.same(outdatedBackups([...names, ...dates.map(backupName)], keep), expected)
    })
  )
  t.equal(backupName(new Date('2026-11-28T03:00:00.123Z')), 'spoor-2026-11-28T030000Z.backup')
})
