import t from 'tap'
import { readExporterAuthorization as read } from '../../../plugins/otlp/authorization.ts'

const basic = (pair: string) => Buffer.from(pair).toString('base64')

t.test('every form in which exporters send a key is converted to Bearer', t => {
  const forms = [
    'Bearer KEY',
    'Bearer%20KEY',
    `Basic ${basic('public:KEY')}`,
    `basic  ${basic('public:KEY')} `,
    `Basic%20${encodeURIComponent(basic('p:KEY'))}`,
    `Basic ${basic(':KEY')}`
  ]
  for (const form of forms) t.equal(read(form), 'Bearer KEY', form)
  t.end()
})

t.test('other values yield no key that was not sent', t => {
  t.equal(read(undefined), undefined)
  for (const other of ['', 'KEY', 'Digest KEY', 'Bearer %', 'Basic', 'Basic !']) t.equal(read(other), other)
  for (const keyless of ['KEY', 'KEY:', '']) {
    t.notMatch(read(`Basic ${basic(keyless)}`), /KEY/, `the pair ${keyless}`)
  }
  t.end()
})
