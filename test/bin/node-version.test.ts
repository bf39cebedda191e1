import { readFileSync } from 'node:fs'
import t from 'tap'
import { complainOfNode } from '../../bin/node-version.ts'

t.test('an old Node gets a one-sentence message', t => {
  for (const version of ['18.20.4', '20.18.3', '16.0.0']) {
    t.match(complainOfNode(version), new RegExp(`needs Node\\.js 20\\.19 or newer, but this is ${version}`))
  }
  for (const version of ['20.19.0', '20.20.2', '22.0.0', '26.10.0', process.versions.node]) {
    t.equal(complainOfNode(version), undefined, version)
  }
  const { engines } = JSON.parse(readFileSync('package.json', 'utf8'))
  t.equal(engines.node, '>=20.19', 'as in package.json')
  t.end()
})
