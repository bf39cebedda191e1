/** Ordinary runs of 50 to 170 steps, whose conversations grow with each step. */
import { blockedPage, contextTooLong, type DemoFailure } from './failures.ts'
import { MODELS } from './models.ts'
import { between, choose, integer } from './random.ts'
import type { DemoMessage, DemoRun } from './run.ts'
import { callWithRetries, type RunOutcome, type Scene } from './short-runs.ts'
import { ASPECTS, codeOf, FILES, TASKS } from './texts.ts'

const FACTS = ['Thirty days net.', 'Two weeks on average.', 'No data for this year.', 'Discount of 35 %.']
const VERDICTS = ['better', 'cheaper', 'slower', 'worse']

/** A coding agent reads, edits and runs tests. Failed tests do not fail the run; some runs stop at maxSteps. */
export function codingAgent(run: DemoRun, scene: Scene): RunOutcome {
  const task = choose(TASKS, run.random)
  const steps = integer(25, 82, run.random)
  const model = run.random() < 0.7 ? MODELS.sonnet : MODELS.opus
  const root = run.open('coding-agent', 'agent', { task, maxSteps: steps })
  const messages: DemoMessage[] = [
    { role: 'system', content: 'You edit a repository using tools. Read before you edit, then run the tests.' },
    { role: 'user', content: task }
  ]
  const stops = run.random() < 0.22
  let failing = integer(2, 6, run.random)
  for (let step = 0; step < steps; step++) {
    const file = choose(FILES, run.random)
    const choice =
      step < 4 ? 'read_file' : choose(['read_file', 'search_code', 'edit_file', 'run_tests'] as const, run.random)
    const input = {
      read_file: { path: file },
      search_code: { pattern: choose(['round', 'cancel', 'voucher', 'normalize'], run.random), glob: 'src/**' },
      edit_file: { path: file, insert: codeOf(file, run.random).split('\n')[2]! },
      run_tests: { only: file.replace('src/', 'test/').replace(/(?<!test)\.ts$/, '.test.ts') }
    }[choice]
    const isFailing = choice === 'run_tests' && (stops || failing > 0)
    if (isFailing) failing--
    const expected = integer(1, 20, run.random)
    const output = {
      read_file: codeOf(file, run.random),
      search_code: `${file}:${expected}: const cents = sum(lines)\n${choose(FILES, run.random)}:9: return cents / 100`,
      edit_file: `edited ${file}: 1 insertion, ${expected % 3} deletions`,
      run_tests: `ok: ${40 + expected} tests`
    }[choice]
    const thought = {
      read_file: `I'll read ${file} to see how amounts are rounded.`,
      search_code: "I'll look for other callers before changing the signature.",
      edit_file: `I'll change ${file} so that it keeps the sign.`,
      run_tests: "I'll run the tests for the changed file."
    }[choice]
    const call = { type: 'tool_use', id: `toolu_${step}`, name: choice, input }
    const asked = { role: 'assistant', content: [{ type: 'text', text: thought }, call] }
    const { failure } = callWithRetries(run, root.id, model, messages, asked, {
      ...scene,
      rejected: scene.rejected / 8
    })
    if (failure !== undefined) return end(failure)
    const broken: DemoFailure | undefined = isFailing
      ? { type: 'AssertionError', message: `${input.only ?? file}: expected ${-expected}.01 to equal ${-expected}` }
      : undefined
    run.tool(root.id, choice, input, output, broken)
    messages.push({ role: 'assistant', content: thought }, { role: 'tool', content: broken?.message ?? output })
  }
  if (stops) return end({ type: 'MaxStepsExceeded', message: `stopped after ${steps} steps without passing tests` })
  const changed = `- changed \`${choose(FILES, run.random)}\``
  const answer = `Done: ${task}\n\n${changed}\n- added two tests, all ${integer(41, 60, run.random)} pass`
  const { failure } = callWithRetries(run, root.id, model, messages, { role: 'assistant', content: answer }, scene)
  return end(failure, answer)

  function end(failure?: DemoFailure, answer?: string): RunOutcome {
    root.close(failure === undefined ? { answer } : undefined, failure)
    return { input: { task }, model, ...(failure === undefined ? { output: answer } : { failure }) }
  }
}

/** A research agent assigns each aspect to a helper, which searches the web and reads pages in parallel. */
export function researchAgent(run: DemoRun, scene: Scene): RunOutcome {
  const supplier = choose(['Umbreit', 'Gardners', 'Libri', 'Hachette'], run.random)
  const task = `Compare ${supplier} with our current wholesaler, and say whether to switch.`
  const model = MODELS.mini
  const root = run.open('research-agent', 'agent', { task })
  const messages: DemoMessage[] = [
    { role: 'system', content: 'Plan, assign each aspect to a helper, and write a one-page report with sources.' },
    { role: 'user', content: task }
  ]
  let last: DemoFailure | undefined
  const aspects = ASPECTS.slice(0, integer(4, ASPECTS.length, run.random))
  const plan = aspects.map((aspect, i) => `${i + 1}. ${aspect}`).join('\n')
  last = callWithRetries(run, root.id, model, messages, { role: 'assistant', content: plan }, scene).failure
  for (const aspect of last === undefined ? aspects : []) {
    const helper = run.open('helper', 'agent', { aspect }, root.id)
    const notes: DemoMessage[] = [{ role: 'system', content: `Find out: ${aspect}. Cite each source.` }]
    const rounds = integer(2, 4, run.random)
    for (let round = 0; round < rounds && last === undefined; round++) {
      const query = `${supplier} ${aspect} ${choose(['2026', 'review', 'terms', 'Ireland'], run.random)}`
      const asked = { role: 'assistant', content: `I search for "${query}".` }
      last = callWithRetries(run, helper.id, model, notes, asked, { ...scene, rejected: scene.rejected / 4 }).failure
      if (last !== undefined) break
      const pages = Array.from(
        { length: integer(2, 4, run.random) },
        (_, i) => `https://example.org/${aspect.split(' ')[0]}/${round}-${i}`
      )
      run.tool(
        helper.id,
        'web_search',
        { query },
        pages.map(url => ({ url, title: query }))
      )
      const together = run.now
      for (const url of pages) {
        const text = `${supplier}: ${aspect}. ${choose(FACTS, run.random)}`
        run.tool(
          helper.id,
          'fetch_page',
          { url },
          { text },
          run.random() < 0.07 ? blockedPage(url) : undefined,
          together
        )
        notes.push({ role: 'tool', content: text })
      }
      notes.push({ role: 'assistant', content: asked.content })
    }
    const finding = `${aspect}: ${choose(VERDICTS, run.random)} than today [${integer(1, 9, run.random)}]`
    helper.close(last === undefined ? { finding } : undefined, last)
    if (last !== undefined) break
    messages.push({ role: 'tool', content: finding })
    run.now += between(5, 30, run.random)
  }
  if (last === undefined && run.random() < 0.06) last = contextTooLong(integer(200_400, 320_000, run.random))
  const report = `# ${supplier}\n\n${messages
    .slice(2)
    .map(({ content }) => `- ${content}`)
    .join('\n')}\n\n**Recommendation:** ${choose(['switch', 'stay', 'ask for better terms first'], run.random)}.`
  if (last?.type === 'BadRequestError') run.call(root.id, model, messages, undefined, { failure: last })
  else if (last === undefined) {
    last = callWithRetries(run, root.id, model, messages, { role: 'assistant', content: report }, scene).failure
  }
  root.close(last === undefined ? { report } : undefined, last)
  return { input: task, model, ...(last === undefined ? { output: report } : { failure: last }) }
}
