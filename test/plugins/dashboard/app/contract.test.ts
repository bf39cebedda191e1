/** Checks that the page's types match the schemas that the routes declare. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import * as output from '../../../../lib/schema/output.ts'
import * as replies from '../../../../plugins/dashboard/replies.ts'
import { testService } from '../../../fixtures/service/service.ts'

const CONTRACT = new URL('plugins/dashboard/app/contract.ts', import.meta.resolve('#package.json'))
const LINE = /^ {2}'(\w+) (\S+)': typeof (Reply|Output)\.(\w+)$/gm
const SCHEMAS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = { Reply: replies, Output: output }

t.test("each line of the contract names its route's schema", async t => {
  const { app } = await testService(t)
  const lines = [...readFileSync(CONTRACT, 'utf8').matchAll(LINE)]
  t.ok(lines.length > 40, `${lines.length} lines`)
  for (const [, method, path, from, name] of lines) {
    const route = app.routes.find(each => each.method === method && each.path === `/app/api/${path}`)
    t.same(Object.values(route?.replies ?? {}), [SCHEMAS[from!]![name!]], `${method} ${path}`)
    t.equal(Object.values(route?.replies ?? {})[0], SCHEMAS[from!]![name!], `${method} ${path}: the same object`)
  }
})
