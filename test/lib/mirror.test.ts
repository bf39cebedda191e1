/** Checks that every long file of lib and of the client has its own test, at the same path under test. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
/** Files with at most this many lines are tested through the code that uses them. */
const MAX_LINES = 180

/** Files that contain only data, each with the code that checks the data. */
const DATA: Readonly<Record<string, string>> = {
  'lib/schema/input.ts':
    'schemas: test/lib/schema/check.test.ts and test/lib/trace/prepare.test.ts try each rule of theirs',
  'lib/schema/output.ts':
    'schemas: test/fixtures/service/openapi-check.ts holds every answer of every test against them',
  'lib/schema/history/span-list.ts':
    'schemas: test/fixtures/service/openapi-check.ts holds every answer of every test against them',
  'lib/mcp/list-outlines.ts': 'outlines: test/lib/mcp/list-view.test.ts checks what each shows, and its length',
  'lib/openapi/examples.ts': 'examples: test/lib/openapi/document.test.ts holds each against the schema of its place',
  'clients/typescript/api-types.ts':
    'types: test/clients/typescript/spoor.test.ts makes them from the OpenAPI document and compares',
  'lib/otlp/wire/plain-spans.ts': 'a faster way to the same: test/lib/otlp/wire/protobuf.test.ts compares the two',
  'lib/demo/ordinary/texts.ts': 'texts of the demo: test/lib/demo/ordinary/traces.test.ts records traces made of them',
  'lib/store/instance/restored-rows.ts':
    'statements of a restore: test/lib/moving/backup/restore-backup.test.ts compares what was restored',
  'lib/people/oidc/provider.ts': 'questions to a provider: test/plugins/dashboard/people/oidc.test.ts has a real one',
  'lib/store/search/indexing.ts':
    'part of the index: test/lib/store/search/trace-search.test.ts compares what is found with a model'
}

const files = ['lib', 'clients/typescript'].flatMap(folder =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts'))
    .map(name => join(folder, name))
)
const isLong = (file: string) => readFileSync(join(ROOT, file), 'utf8').split('\n').length - 1 > MAX_LINES
const mirrorOf = (file: string) => join('test', file.replace(/\.ts$/, '.test.ts'))

t.test(`every file in lib and the client with more than ${MAX_LINES} lines has a test at the same path`, t => {
  const long = files.filter(isLong)
  t.ok(long.length > 20)
  for (const file of long) if (!(file in DATA)) t.ok(existsSync(join(ROOT, mirrorOf(file))), mirrorOf(file))
  t.end()
})

t.test('each exception is still a long file without a test, with a reason', t => {
  for (const [file, reason] of Object.entries(DATA)) {
    t.ok(files.includes(file) && isLong(file), file)
    t.notOk(existsSync(join(ROOT, mirrorOf(file))), mirrorOf(file))
    for (const [path] of reason.matchAll(/test\/\S+\.ts/g)) t.ok(existsSync(join(ROOT, path)), path)
  }
  t.end()
})
