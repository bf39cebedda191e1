/** Tests the entries of the command box. */
import t from 'tap'
import {
  atFirst,
  distinct,
  type Entry,
  knownEntries,
  matching,
  nameEntry,
  readRecent,
  searchEntries,
  sessionEntry,
  tagEntry,
  traceEntry,
  userEntry,
  writeRecent
} from '../../../../../plugins/dashboard/app/shell/command-entries.ts'

const all = knownEntries({
  slug: 'shop',
  projects: [
    { slug: 'shop', name: 'Shop', role: 'owner', search: false },
    { slug: 'other', name: 'Another shop', role: 'viewer', search: false }
  ],
  views: [{ id: 1, name: 'Failures', page: 'traces', query: '?status=error', shared: true }],
  names: ['support-agent', 'Agent for travel', 'review'],
  commands: ['theme-dark', 'sign-out']
})
const shown = (entries: readonly Entry[]) => entries.map(({ kind, label }) => `${kind} ${label}`)

t.test('each entry contains the typed words, and entries that begin with the text come first', async t => {
  t.same(shown(matching(all, 'AGENT')), ['name Agent for travel', 'name support-agent'])
  t.same(shown(matching(all, ' shop ')), ['project Another shop'], 'not the current project')
  t.same(shown(matching(all, 'status error')), ['view Failures'])
  t.same(shown(matching(all, 'dark')), ['command Dark theme'])
  t.same(shown(matching(all, 'set key')), ['page Settings: keys'])
  t.same(shown(matching(all, 'none of these')), [])
})

t.test('only some entries of a large kind are shown', async t => {
  const names = Array.from({ length: 50 }, (_, i) => nameEntry('shop', `step ${i}`))
  t.equal(matching([...names, ...all], 's').filter(({ kind }) => kind === 'name').length, 6)
})

t.test('before anything is typed, recent places, views, pages and projects are shown', async t => {
  const recent = readRecent(writeRecent([], sessionEntry('shop', 's/1'), 7, 'shop'), 7, 'shop')
  const first = shown(atFirst(all, recent))
  t.same(first.slice(0, 3), ['recent s/1', 'view Failures', 'page Overview'])
  t.equal(first.at(-1), 'project Another shop')
  t.notOk(first.some(each => each.startsWith('command')))
})

t.test('each entry leads to its address', async t => {
  const address = ({ target }: Entry) => ('address' in target ? target.address : target.command)
  const id = 'a'.repeat(32)
  t.equal(address(nameEntry('shop', 'a&b')), 'p/shop/traces?name=a%26b&range=all')
  t.equal(address(tagEntry('shop', 'x')), 'p/shop/traces?range=all&tag=x')
  t.equal(address(sessionEntry('shop', 'a/b')), 'p/shop/sessions/a%2Fb')
  t.equal(address(userEntry('shop', 'u 1')), 'p/shop/users/u%201')
  t.equal(address(traceEntry('shop', id, 'name')), `p/shop/traces/${id}`)
  t.equal(address(matching(all, 'failures')[0]!), 'p/shop/traces?status=error')
  t.equal(address(matching(all, 'sign out')[0]!), 'sign-out')
  t.equal(distinct([nameEntry('shop', 'x'), nameEntry('shop', 'x'), nameEntry('shop', 'y')]).length, 2)
})

t.test('the typed text is offered as a search: filters always, and words if search is on', async t => {
  const found = (typed: string, hasSearch = true) =>
    searchEntries('shop', typed, hasSearch).map(({ label, target }) => [label, 'address' in target && target.address])
  t.same(found('blue kettle'), [['Search traces for “blue kettle”', 'p/shop/traces?q=blue+kettle&range=all']])
  t.same(found('status:error', false), [['Search traces for “status:error”', 'p/shop/traces?status=error&range=all']])
  t.same(found('blue kettle', false), [])
  t.same(found('colour:red'), [])
  t.same(found(''), [])
})

t.test('recent places belong to one user and project, newest first, each once', async t => {
  const [a, b] = [sessionEntry('shop', 'a'), userEntry('shop', 'b')]
  let text = writeRecent([], a, 7, 'shop')
  text = writeRecent(readRecent(text, 7, 'shop'), b, 7, 'shop')
  text = writeRecent(readRecent(text, 7, 'shop'), a, 7, 'shop')
  const recent = readRecent(text, 7, 'shop')
  t.same(
    recent.map(({ label, note }) => `${label}: ${note}`),
    ['a: Session', 'b: User']
  )
  text = writeRecent(recent, recent[1]!, 7, 'shop')
  t.equal(readRecent(text, 7, 'shop')[0]?.note, 'User', 'an entry chosen from the recent ones is unchanged')
  for (let i = 0; i < 20; i++) text = writeRecent(readRecent(text, 7, 'shop'), tagEntry('shop', String(i)), 7, 'shop')
  t.equal(readRecent(text, 7, 'shop').length, 6)
  t.same(readRecent(text, 8, 'shop'), [], 'somebody else')
  t.same(readRecent(text, 7, 'other'), [], 'another project')
  const foul = {
    user: 7,
    slug: 'shop',
    entries: [{ label: 'x', target: { address: 'https://evil.example' } }, null, 7]
  }
  for (const wrong of [null, '', '{', 'null', '[]', JSON.stringify(foul)])
    t.same(readRecent(wrong, 7, 'shop'), [], String(wrong))
})
