import t from 'tap'
import { LargeBodies } from '../../../../lib/http/body/large-bodies.ts'

const turn = () => new Promise(resolve => setImmediate(resolve))

t.test('two are inside at a time, projects take turns, and who leaves while waiting takes no place', async t => {
  const bodies = new LargeBodies()
  const entered: string[] = []
  const begin = (name: string, project: number) => {
    const body = bodies.of(project)
    void body.enter().then(() => entered.push(name))
    return body
  }
  const [a, b, gone, c, other] = [
    begin('a', 1),
    begin('b', 1),
    begin('gone', 1),
    begin('c', 1),
    begin('other', 2)
  ] as const
  await turn()
  t.same(entered, ['a', 'b'])
  gone.leave()
  a.leave()
  a.leave()
  await turn()
  t.same([...entered].sort(), ['a', 'b', 'gone', 'other'].sort())
  b.leave()
  await turn()
  t.ok(c.isInside)
  for (const each of [c, other]) each.leave()
  const next = bodies.of(3)
  await next.enter()
  t.ok(next.isInside, 'all places are free again')
})
