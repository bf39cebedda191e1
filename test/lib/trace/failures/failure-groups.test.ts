import fc from 'fast-check'
import t from 'tap'
import { type Failure, FailureGroups } from '../../../../lib/trace/failures/failure-groups.ts'
import { runs } from '../../../torture/orders.ts'

const AT = '2026-11-21T12:00:00.000Z'
const failure = (fields: Partial<Failure>): Failure => ({
  ...{ kind: 'tool', name: 'step', model: null, type: null, message: null, traceId: 'a', spanId: 'b', at: AT },
  isPassedOn: false,
  ...fields
})
const groupsOf = (failures: readonly Partial<Failure>[]) => {
  const groups = new FailureGroups()
  for (const each of failures) groups.add(failure(each))
  return groups.list()
}

t.test('failures are counted in the time step that contains them, even if groups are merged', t => {
  const groups = new FailureGroups()
  for (const step of [2, 0, 2, -1]) groups.add(failure({ message: 'refused', traceId: String(step) }), step)
  t.match(groups.list(), [{ count: 3, steps: [1, 0, 2], before: 1, traces: new Set(['2', '0']) }])
  const alike = new FailureGroups()
  const names = ['ada', 'bob', 'cleo', 'dan', 'eve', 'fay', 'gus', 'hal']
  for (const [i, name] of names.entries()) {
    alike.add(failure({ message: `the user named ${name} does not exist`, traceId: name }), i < 2 ? -1 : i - 2)
  }
  t.match(alike.list(), [{ count: 6, steps: [1, 1, 1, 1, 1, 1], before: 2 }])
  t.equal(alike.list()[0]?.traces.size, 6)
  t.end()
})

t.test('groups are counts by step, type and pattern, with their first, last and newest failure', async t => {
  const time = fc.constantFrom('2026-11-21T12:00:00.000Z', '2026-11-21T12:00:00.000001Z', '2026-11-22T12:00:00.000Z')
  const any = fc.record({
    kind: fc.constantFrom('tool', 'llm'),
    name: fc.constantFrom('one', 'two'),
    type: fc.constantFrom(null, 'TypeError'),
    message: fc.constantFrom(null, 'bad order 1', 'bad order 2', 'refused'),
    traceId: fc.constantFrom('a', 'b', 'c'),
    at: time,
    isPassedOn: fc.boolean()
  })
  const pattern = ({ message }: Pick<Failure, 'message'>) => message?.replace(/\d/, '<number>') ?? null
  fc.assert(
    fc.property(fc.array(any), failures => {
      const groups = groupsOf(failures)
      for (const group of groups) {
        const own = failures.filter(
          each =>
            each.kind === group.kind &&
            each.name === group.name &&
            each.type === group.type &&
            pattern(each) === group.pattern
        )
        const times = own.map(({ at }) => at.replace('Z', '').padEnd(26, '0')).sort()
        t.equal(group.count, own.length)
        t.equal(group.passedOn, own.filter(({ isPassedOn }) => isPassedOn).length)
        t.equal(group.traces.size, new Set(own.map(({ traceId }) => traceId)).size)
        t.equal(group.first.replace('Z', '').padEnd(26, '0'), times[0])
        t.equal(group.last.replace('Z', '').padEnd(26, '0'), times.at(-1))
        t.ok(own.some(({ message, at }) => message === group.example.message && at === group.last))
      }
      t.equal(
        groups.reduce((sum, { count }) => sum + count, 0),
        failures.length
      )
      const totals = new FailureGroups()
      for (const each of failures) totals.add(failure(each))
      for (const { kind, name, count, passedOn, traces } of totals.steps()) {
        const own = failures.filter(each => each.kind === kind && each.name === name)
        t.equal(count, own.length)
        t.equal(passedOn, own.filter(each => each.isPassedOn).length)
        t.equal(traces.size, new Set(own.map(({ traceId }) => traceId)).size)
      }
      t.equal(totals.steps().length, new Set(failures.map(({ kind, name }) => `${kind} ${name}`)).size)
      const ranks = groups.map(({ count, passedOn }) => count - passedOn)
      t.same(
        ranks,
        ranks.toSorted((a, b) => b - a)
      )
      return true
    }),
    runs(100)
  )
})

const NAMES = ['Paris', 'Rom', 'Oslo', 'Wien', 'Bern', 'Prag', 'Riga', 'Kiew', 'Lima']

t.test('many groups that differ in one word, or in two, are merged', async t => {
  t.match(groupsOf(NAMES.map(name => ({ message: `city ${name} was not found` }))), [
    { pattern: 'city <…> was not found', count: 9 }
  ])
  const both = NAMES.flatMap(from => NAMES.map(to => ({ message: `no train from ${from} to ${to} runs today` })))
  t.match(groupsOf(both), [{ pattern: 'no train from <…> to <…> runs today', count: 81 }])
})

t.test('few groups that differ in one word stay separate, as do many that differ in a code', async t => {
  t.equal(groupsOf(NAMES.slice(0, 7).map(name => ({ message: `city ${name} was not found` }))).length, 7)
  const statuses = [400, 401, 403, 404, 409, 422, 429, 500, 502, 503]
  t.equal(groupsOf(statuses.map(code => ({ message: `Request failed with status code ${code}` }))).length, 10)
  t.equal(groupsOf(NAMES.map(name => ({ message: `it failed in a way`, name }))).length, 9, 'from different steps')
  t.equal(groupsOf(NAMES.map(type => ({ message: 'it failed in a way', type }))).length, 9, 'of different types')
})
