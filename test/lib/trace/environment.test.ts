import t from 'tap'
import { EnvironmentError, parseEnvironment } from '../../../lib/trace/environment.ts'

t.test('labels are lowercased', async t => {
  const accepted = { prod: 'prod', PROD: 'prod', 'eu-West_1': 'eu-west_1', '0': '0', ['A'.repeat(32)]: 'a'.repeat(32) }
  for (const [text, label] of Object.entries(accepted)) t.equal(parseEnvironment(text), label)
})

t.test('invalid and reserved labels are rejected with the reason', async t => {
  const refused: [string, RegExp][] = [
    ['unassigned', /reserved/],
    ['Unassigned', /reserved/],
    ['all', /reserved/],
    ['ALL', /reserved/],
    ['', /1 to 32/],
    ['-prod', /beginning with/],
    ['_prod', /beginning with/],
    ['a'.repeat(33), /1 to 32/],
    ['pro d', /letters/],
    ['prod ', /letters/],
    ['prod\n', /letters/],
    ['prød', /letters/],
    // The Kelvin sign becomes the letter k in lower case.
    ['\u212Aey', /letters/]
  ]
  for (const [text, reason] of refused)
    t.throws(() => parseEnvironment(text), { name: EnvironmentError.name, message: reason }, text)
})
