/** An application that loads the client loads none of the server's code. */
import { readdirSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join, relative } from 'node:path'
import t from 'tap'

const CLIENT = 'clients/typescript'
const IMPORT = /(?:from |import\()'([^']+)'/g

t.test("the client imports only its own files and Node's modules", t => {
  const files = readdirSync(CLIENT, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.ts'))
  const imports = files.flatMap(file =>
    [...readFileSync(join(CLIENT, file), 'utf8').matchAll(IMPORT)].map(([, to = '']) => ({ file, to }))
  )
  t.ok(imports.length > 50)
  const isOwn = (file: string, to: string) =>
    to.startsWith('.') && !relative('.', join(dirname(file), to)).startsWith('..')
  const foreign = imports.filter(({ file, to }) => !isOwn(file, to) && !isBuiltin(to))
  t.same(foreign, [])
  t.end()
})
