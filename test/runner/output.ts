/** Reads what tap writes about the tests of a process, in the Test Anything Protocol. */

export interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/**
 * The last line of counts is `# { total: 6, pass: 3, fail: 1, todo: 1, skip: 1 }`, without counts of 0. Returns
 * undefined if there is none, because the process ended before its tests did.
 */
export function countsOf(output: string): Counts | undefined {
  const counts = [...output.matchAll(/^# \{ ([^}]*) \}$/gm)].at(-1)?.[1]
  if (counts === undefined) return undefined
  const count = (name: string) => Number(new RegExp(`\\b${name}: (\\d+)`).exec(counts)?.[1] ?? 0)
  return { passed: count('pass'), failed: count('fail'), skipped: count('skip') + count('todo') }
}

interface OpenTest {
  readonly name: string
  /** Whether one of its assertions has failed. */
  hasFailed: boolean
}

/** The assertions of a test are indented by this number of columns more than the test's own result. */
const INDENT = 4

/**
 * Returns a string for each failed assertion: the line `not ok` with the names of its tests, and its diagnostics. The
 * result of a test is a failure of its own only if none of the test's assertions failed.
 */
export function failuresOf(output: string): string[] {
  const failures: string[] = []
  const open: OpenTest[] = []
  let isFailure = false
  let endOfDiagnostics: string | undefined
  for (const line of output.split('\n')) {
    const [, indent = '', text = ''] = /^( *)(.*)$/.exec(line) ?? []
    if (endOfDiagnostics !== undefined) {
      if (isFailure) failures.push(`${failures.pop()}\n${line}`)
      if (line === endOfDiagnostics) endOfDiagnostics = undefined
      continue
    }
    if (text === '---') {
      endOfDiagnostics = `${indent}...`
      if (isFailure) failures.push(`${failures.pop()}\n${line}`)
      continue
    }
    const level = indent.length / INDENT
    const name = /^# Subtest: (.*)/.exec(text)?.[1]
    if (name !== undefined) open.splice(level, Number.POSITIVE_INFINITY, { name, hasFailed: false })
    const result = /^(not )?ok \d+(?: - )?(.*)/.exec(text)
    if (result === null) continue
    const [, not, title = ''] = result
    const [ended] = open.splice(level)
    isFailure = not !== undefined && ended?.hasFailed !== true
    if (!isFailure) continue
    failures.push(`not ok - ${[...open.map(({ name }) => name), title].join(' > ')}`)
    for (const test of open) test.hasFailed = true
  }
  return failures
}
