import t from 'tap'
import { folderOfMajor, sortFolders } from '../../../../lib/database/embedded/cluster-folders.ts'

t.test('the folder of the highest version is current, and earlier ones are listed', t => {
  const other = ['.s.PGSQL.5432', 'upgrading', 'data-1f', 'postgresql-19x', 'postgresql-', 'postgresql-19-1f']
  for (const [names, current, earlier] of [
    [[], 'data', []],
    [['data'], 'data', []],
    [['data', folderOfMajor(18)], 'postgresql-18', ['data']],
    [
      ['postgresql-18', 'data', 'postgresql-20', 'postgresql-19'],
      'postgresql-20',
      ['postgresql-19', 'postgresql-18', 'data']
    ],
    [['postgresql-9', 'postgresql-100', 'postgresql-20'], 'postgresql-100', ['postgresql-20']],
    [['postgresql-18'], 'postgresql-18', []]
  ] as const) {
    t.same(sortFolders([...other, ...names]), { current, earlier }, names.join(' '))
  }
  t.end()
})
