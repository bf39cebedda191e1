/** Tests what a trace's page shows of an agent's run: steps, failures, turns, metadata, and long traces. */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { testService } from '../../../fixtures/service/service.ts'
import { hasChromium } from '../../browser.ts'
import { recordAgent, recordAgentAgain, recordLong } from './traces.ts'
import { ownProject, type Visit, visit } from './visit.ts'

const MOST_ELEMENTS = 3000
const hex = (bytes: number) => randomBytes(bytes).toString('hex')
const at = (ms: number) => new Date(Date.parse('2026-11-25T10:00:00Z') + ms).toISOString()
const timed = (from: number, to: number) => ({ startedAt: at(from), endedAt: at(to) })

const textsOf = (page: Visit, selector: string) =>
  page.evaluate(`[...document.querySelectorAll('${selector}')].map(each => each.textContent)`)

t.test("a trace's page", async t => {
  if (!(await hasChromium())) {
    t.comment("Debian's package chromium is not installed: no page was opened in a browser.")
    return
  }
  const server = await testService(t)
  const page = await visit(t, server)
  const begin = async () => {
    page.errors.length = 0
    return ownProject(server)
  }

  t.test('rows show what steps did, which were retried, and which ran at the same time', async t => {
    const service = await begin()
    const [root, first, second, again, third, other] = Array.from({ length: 6 }, () => hex(8))
    const failure = { name: 'exception', timestamp: at(90), attributes: { 'exception.message': 'Two tests fail.' } }
    const tool = (id: string | undefined, from: number, to: number, over: object) => ({
      ...{ id, parentSpanId: root, name: 'run_tests', kind: 'tool', status: 'ok', ...timed(from, to) },
      ...over
    })
    const { id } = await recordAgent(service, {
      status: 'unset',
      spans: [
        { id: root, name: 'agent run', kind: 'agent', ...timed(0, 4000) },
        tool(first, 0, 100, { status: 'error', input: { command: 'npm test' }, events: [failure] }),
        tool(second, 200, 300, { input: { command: 'npm test -- --only a' }, output: '{"passed":12}' }),
        tool(again, 310, 390, { input: { command: 'npm test' } }),
        tool(third, 400, 900, { name: 'read_file', input: { path: 'src/a.ts' }, output: 'if x:\n  y' }),
        tool(other, 450, 950, { name: 'read_file', input: { path: 'src/b.ts' } })
      ]
    })
    await page.open(`${service.pages}/traces/${id}`)
    await page.untilText('npm test -- --only a', '.row-words')
    const [tests, files] = [Array(3).fill('run_tests'), Array(2).fill('read_file')]
    t.same(await textsOf(page, '.row .step-name'), ['agent run', ...tests, ...files])
    t.same(await textsOf(page, '.row .row-words'), [
      '',
      'Two tests fail.',
      'npm test -- --only a',
      'npm test',
      'src/a.ts',
      'src/b.ts'
    ])
    t.same(await textsOf(page, '.row:has(.step-mark) .row-words'), ['npm test', 'src/a.ts', 'src/b.ts'])
    const marks = ['attempt 2', '∥parallel, 2', '∥parallel, 2']
    t.same(await textsOf(page, '.row .step-mark'), marks)
    t.same(await page.violations(), [])

    await page.press('e')
    await page.until(`location.search.includes('${first}')`)
    await page.press('E')
    await page.untilText('Two tests fail.', '.failure')

    // A tool's texts have no roles: JSON is a tree, and other text keeps its lines.
    await page.open(`${service.pages}/traces/${id}?span=${second}`)
    await page.untilText('passed', '.plain-value .json .key')
    t.same(await textsOf(page, '#tab-panel .role'), [])
    await page.open(`${service.pages}/traces/${id}?span=${third}`)
    await page.untilText('if x:', '.plain-value pre.is-code')
    t.same(await textsOf(page, '#tab-panel .role'), [])

    // The other views show the same marks.
    await page.click('.switch button', 'Log')
    await page.untilText('npm test', '.log-preview')
    t.same(await textsOf(page, '.log .step-mark'), marks)
    await page.click('.switch button', 'Turns')
    await page.untilText('npm test', '.turn-action')
    t.same(await textsOf(page, '.turn-action .step-mark'), marks)
    await page.click('.switch button', 'Tree')
    await page.untilText('npm test', '.row-words')

    // A collapsed row has the sums of the steps below it.
    await page.press('[')
    await page.untilText('5 steps 1 failed', '.row-words')
    t.same(page.errors, [])
  })

  t.test('the trace and its only root share one row, and the address may name either', async t => {
    const service = await begin()
    const { id, spans } = await recordAgent(service)
    await page.open(`${service.pages}/traces/${id}?span=trace`)
    await page.untilText('It comes tomorrow.', '.message')
    t.equal(await page.evaluate("document.querySelectorAll('[role=treeitem].row').length"), 4)
    t.equal(await page.evaluate("document.querySelector('.row.is-selected').id"), `row-${spans[0]}`)
    await page.click('[role=tab]', 'Metadata')
    await page.untilText('48213', '#tab-panel')
    await page.open(`${service.pages}/traces/${id}?span=${'0'.repeat(16)}&colour=red`)
    await page.untilText(`This trace has no span ${'0'.repeat(16)}. This page has no parameter “colour”.`)
    await page.untilText('It comes tomorrow.', '.message')
    t.same(page.errors, [])
  })

  t.test("metadata values selected once are in every trace's head, and in comparisons", async t => {
    const service = await begin()
    const [one, other] = [
      await recordAgent(service),
      await recordAgentAgain(service, { metadata: { release: '2.15.0', ticket: 48213 } })
    ]
    await page.open(`${service.pages}/traces/${one.id}?view=log`)
    await page.untilText('It comes tomorrow.', '.message')
    await page.click('.trace-facts button', '2 metadata values')
    await page.click('dialog label', 'release')
    await page.until("document.querySelector('dialog input').checked")
    t.same(await page.violations({ within: 'dialog' }), [])
    await page.press('Escape')
    await page.untilText('2.14.0', '.trace-head')
    await page.open(`${service.pages}/traces/${other.id}`)
    await page.untilText('2.15.0', '.trace-head')
    await page.open(`${service.pages}/compare?a=${one.id}&b=${other.id}`)
    await page.untilText('2.14.0 → 2.15.0', '.side-changes')
    t.same(await textsOf(page, '.side-changes dt'), ['release'], 'equal values are omitted')
    t.same(page.errors, [])
  })

  t.test("a model's input other than messages is shown, and missing totals are summed", async t => {
    const service = await begin()
    const lookup = { type: 'function', function: { name: 'lookup_order', parameters: { type: 'object' } } }
    const messages = [{ role: 'user', content: 'Where?' }]
    const code = '```python\ndef f(x):\n  return x\n```\n\nIt is $a_1$, not *b*.'
    const { id, spans } = await recordAgent(service, {
      model: undefined,
      usage: undefined,
      costUsd: undefined,
      spans: [
        {
          ...{ id: hex(8), name: 'chat', kind: 'llm', model: 'gpt-5', ...timed(0, 100) },
          input: { model: 'gpt-5', messages, temperature: 0.2, tools: [lookup] },
          output: { role: 'assistant', content: code },
          attributes: { 'gen_ai.server.time_to_first_token': 0.25 },
          usage: { inputTokens: 600, outputTokens: 20 },
          costUsd: 0.006
        }
      ]
    })
    await page.open(`${service.pages}/traces/${id}?span=${spans[0]}`)
    await page.untilText('temperature 0.2', '.parameters')
    await page.untilText('tools (1) lookup_order', '.parameters')
    await page.click('.parameters button', 'tools')
    await page.untilText('parameters', '.parameters .json')
    await page.untilText('It is $a_1$, not b.', '.words')
    await page.until("CSS.highlights.get('code-keyword')?.size === 2")
    t.match(await page.evaluate("document.querySelector('.panel-head').textContent"), 'first token after 250 ms')
    const facts = String(await page.evaluate("document.querySelector('.trace-facts').textContent"))
    t.match(facts, 'Tokens620 600 in, 20 out · sum of steps')
    t.match(facts, 'Cost$0.00600 · sum of steps')
    t.match(facts, 'Modelgpt-5')
    t.same(await page.violations(), [])
    t.same(page.errors, [])
  })

  t.test('a printed trace has its steps and texts, and no controls', async t => {
    const service = await begin()
    const { id } = await recordAgent(service)
    await page.open(`${service.pages}/traces/${id}`)
    await page.untilText('It comes tomorrow.', '.message')
    await page.send('Emulation.setEmulatedMedia', { media: 'print' })
    const displays = (selector: string) =>
      page.evaluate(`getComputedStyle(document.querySelector('${selector}')).display !== 'none'`)
    for (const control of ['.bar', '.trace-tools', '.find', '.tabs', '.switch']) t.equal(await displays(control), false)
    for (const content of ['.trace-head h1', '.row', '.message']) t.equal(await displays(content), true)
    const clipped =
      "[...document.querySelectorAll('.panel-body, .rows')].some(each => each.scrollHeight > each.clientHeight + 1)"
    t.equal(await page.evaluate(clipped), false)
    await page.send('Emulation.setEmulatedMedia', { media: '' })
    t.same(page.errors, [])
  })

  t.test('turns are prompts with actions and answers', async t => {
    const service = await begin()
    const { id, spans } = await recordAgent(service)
    await page.open(`${service.pages}/traces/${id}?view=turns`)
    await page.untilText('Turn 2', '.turn-head')
    t.same(await textsOf(page, '.turn-prompt'), ['Where is my order?', 'So?'])
    t.same(await textsOf(page, '.turn-action b'), ['lookup_order'])
    t.same(await textsOf(page, '.turn-answer'), ['It comes **tomorrow**.'])
    await page.click('.turn-action', 'lookup_order')
    await page.until(`location.search.includes('${spans[2]}')`)
    await page.untilText('in transit', '#tab-panel')
    t.same(await page.violations(), [])
    t.same(page.errors, [])
  })

  t.test('a running trace with a silent sender is marked', async t => {
    const service = await begin()
    const [id, startedAt] = [hex(16), new Date(Date.now() - 24 * 60_000).toISOString()]
    const running = { id, name: 'silent', startedAt }
    t.equal((await service.call('POST', '/api/v1/traces', { body: { schemaVersion: 1, trace: running } })).status, 201)
    await page.open(`${service.pages}/traces/${id}`)
    await page.untilText('24 min', '.trace-facts')
    await page.untilText('no new step for 24 min', '.is-silent')
    t.same(page.errors, [])
  })

  t.test('a trace of 10,000 spans is collapsed, has sums, and never has more than 3,000 elements', async t => {
    const service = await begin()
    const { id: traceId, failed, spanCount } = await recordLong(service)
    await page.open(`${service.pages}/traces/${traceId}`)
    await page.untilText('98 steps', '.row-words')
    await page.untilText(`${spanCount.toLocaleString('en')} spans`, '.pane-bar strong')
    t.equal(await page.evaluate("document.querySelector('.row .row-use + .row-time').textContent"), '2 h 47 min')
    await page.untilText('980', '.row-use')
    await page.press('f')
    await page.until(`document.activeElement?.id === 'find'`)
    await page.type('Answer 3.7')
    await page.untilText('11 matches in 11 spans', '.said')
    await page.until(`document.querySelector('.row:has(.hits)')?.textContent.includes('turn 3')`)
    t.equal(await page.evaluate("document.querySelector('.row .hits').textContent"), '11', 'on the collapsed row')
    await page.press('Enter')
    await page.untilText('chat', '.row.is-selected')
    await page.evaluate("document.getElementById('find').select()")
    await page.press('Escape')
    await page.until(`document.querySelector('.hits') === null`)
    await page.press('e')
    await page.until(`location.search.includes('${failed}')`)
    await page.untilText('chat', '.row.is-selected')
    await page.press(']')
    const scrolled = async () => {
      const count = `new Promise(resolve => {
        const box = document.getElementById('spans')
        let most = 0
        const go = turn => {
          box.scrollTop = turn * box.scrollHeight / 40
          most = Math.max(most, document.querySelectorAll('*').length)
          if (turn === 40) resolve(most)
          else setTimeout(() => requestAnimationFrame(() => go(turn + 1)), 20)
        }
        go(0)
      })`
      return Number(await page.evaluate(count))
    }
    t.ok((await scrolled()) <= MOST_ELEMENTS, 'as a tree')
    await page.click('.switch button', 'Log')
    await page.untilText('Answer', '.log-preview')
    t.ok((await scrolled()) <= MOST_ELEMENTS, 'as a log')
    await page.click('.switch button', 'Turns')
    for (let i = 0; i < 3; i++) {
      await page.untilText('left', '.turns .show-all')
      await page.click('.turns .show-all', 'left')
    }
    await page.untilText('left', '.turns .show-all')
    t.ok((await scrolled()) <= MOST_ELEMENTS, 'as turns')
    t.same(page.errors, [])
  })
})
