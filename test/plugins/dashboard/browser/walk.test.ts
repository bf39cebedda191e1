/**
 * Tests paths through the pages: using the keyboard, going back and forward, scoring, watching running traces, and
 * searching.
 */
import t from 'tap'
import { addPerson, linkFor } from '../../../fixtures/service/people.ts'
import { testService } from '../../../fixtures/service/service.ts'
import { hasChromium, openPage } from '../../browser.ts'
import { recordAgent, recordRunning } from './traces.ts'
import { ownProject, visit, visitor } from './visit.ts'

const FOCUSED = 'document.activeElement.textContent'

t.test('in a browser', async t => {
  if (!(await hasChromium())) {
    t.comment("Debian's package chromium is not installed: no page was opened in a browser.")
    return
  }
  const server = await testService(t)
  const page = await visit(t, server)
  /** Creates a project for one test, and checks that no errors have occurred. */
  const begin = async () => {
    page.errors.length = 0
    return ownProject(server)
  }

  t.test('by keyboard from the list to a trace, its spans, a score, and back to the same place', async t => {
    const service = await begin()
    for (let i = 0; i < 60; i++) {
      await recordAgent(service, {
        name: `trace ${i}`,
        startedAt: `2026-11-25T10:00:${String(i).padStart(2, '0')}.000Z`,
        endedAt: '2026-11-25T10:01:30Z',
        spans: []
      })
    }
    const agent = await recordAgent(service, { startedAt: '2026-11-25T10:00:20.500Z', endedAt: '2026-11-25T10:00:25Z' })
    await page.open(`${service.pages}/traces?range=all`)
    await page.until("document.querySelectorAll('.traces a.open').length === 50")
    for (let i = 0; i < 41; i++) await page.press('j')
    await page.press('k')
    await page.until(`${FOCUSED} === 'support-agent'`)
    const scroll = (await page.evaluate('scrollY')) as number
    t.ok(scroll > 0)
    await page.press('Enter')
    await page.until(`location.pathname.endsWith('${agent.id}')`)
    await page.untilText('agent run', '.row')
    t.equal(await page.evaluate('document.activeElement.tagName'), 'H1', 'the heading has the focus')
    await page.evaluate("document.getElementById('spans').focus()")
    await page.press('ArrowDown')
    await page.untilText('You are careful.', '.message')
    t.match(await page.evaluate('location.search'), agent.spans[1]!)
    await page.press('ArrowLeft')
    await page.press('ArrowLeft')
    await page.until("document.querySelectorAll('.row').length === 1")
    await page.press('ArrowRight')
    await page.until("document.querySelectorAll('.row').length === 4")
    await page.press('a')
    await page.until("document.querySelector('dialog[open] input') === document.activeElement")
    await page.type('helpful')
    await page.press('Tab')
    await page.press('Tab')
    await page.type('0.75')
    await page.press('Enter')
    await page.until("!document.querySelector('dialog[open]')")
    // The root's row stands for the trace as well, so it lists the trace's own scores.
    await page.click('[role=treeitem]', 'agent run')
    await page.click('[role=tab]', 'Scores')
    await page.untilText('0.75', '.score-list')
    const { scores } = (await service.call('GET', `/api/v1/traces/${agent.id}`)).body
    t.match(scores, [{ name: 'helpful', value: 0.75, source: 'annotation', spanId: null }])
    await page.click('button', 'Delete the score helpful')
    await page.untilText('No scores yet.')
    await page.evaluate('history.back()')
    await page.until("document.querySelectorAll('.traces a.open').length === 50")
    t.equal(await page.evaluate(FOCUSED), 'support-agent', 'the row has the focus')
    t.equal(await page.evaluate('scrollY'), scroll, 'the scroll position is restored')
    await page.press('Enter')
    await page.untilText('agent run', '.row')
    await page.press('Escape')
    await page.until("document.querySelectorAll('.traces a.open').length === 50")
    t.same(await page.evaluate(`[${FOCUSED}, scrollY]`), ['support-agent', scroll], 'Escape has the same effect')
    t.same(page.errors, [])
  })

  t.test('back and forward keep filters, and a copied address shows the same page', async t => {
    const service = await begin()
    await recordAgent(service)
    await recordAgent(service, { name: 'other', status: 'error' })
    await page.open(`${service.pages}/traces?range=all`)
    const names = "[...document.querySelectorAll('.traces a.open')].map(each => each.textContent).join()"
    await page.until("document.querySelectorAll('.traces a.open').length === 2")
    await page.evaluate("document.getElementById('filter').focus()")
    await page.type('status:error')
    await page.press('Enter')
    await page.until(`${names} === 'other'`)
    const { href } = (await page.evaluate('({ href: location.href })')) as { href: string }
    t.match(href, /\?status=error&range=all$/)
    await page.click('.menu button', 'Sort')
    await page.click('[role=menuitemradio]', 'Most expensive first')
    await page.until("location.search.includes('sort=costliest')")
    await page.until(`${names} === 'other'`)
    await page.evaluate('history.back()')
    await page.until("location.search === '?status=error&range=all'")
    await page.evaluate('history.back()')
    await page.until(`${names} === 'support-agent,other' || ${names} === 'other,support-agent'`)
    await page.evaluate('history.forward()')
    await page.until(`${names} === 'other'`)
    const tab = visitor(await page.openTab())
    await tab.open(href)
    await tab.until(`${names} === 'other'`)
    await tab.click('.zone')
    await page.untilText('UTC', '.zone')
    t.pass('a preference set in one tab applies in the other')
    t.same([...page.errors, ...tab.errors], [])
  })

  t.test('runs only is a filter of the list, kept in its address and from trace to trace', async t => {
    const service = await begin()
    for (const name of ['first run', 'second run']) {
      await recordAgent(service, { name })
      for (let i = 0; i < 5; i++)
        await recordAgent(service, { name: 'sql.execute', model: undefined, costUsd: undefined, spans: [] })
    }
    const rows = (count: number) => `document.querySelectorAll('.traces a.open').length === ${count}`
    await page.open(`${service.pages}/traces?range=all`)
    await page.until(rows(12))
    await page.click('.only input')
    await page.until(rows(2))
    t.equal(await page.evaluate('location.search'), '?runs=only&range=all')
    t.same(await page.violations(), [])
    await page.press('j')
    await page.press('Enter')
    await page.untilText('agent run', '.row')
    const first = await page.evaluate('location.pathname')
    await page.press('j')
    await page.until(`location.pathname !== ${JSON.stringify(first)}`)
    await page.untilText('agent run', '.row')
    await page.open(`${service.pages}/traces?runs=only&range=all`)
    await page.until(rows(2))
    await page.click('.only input')
    await page.until(rows(12))
    t.equal(await page.evaluate('location.search'), '?range=all')
    t.same(page.errors, [])
  })

  t.test('j and k follow the list from which a trace was opened', async t => {
    const service = await begin()
    for (const [i, name] of ['c', 'skip', 'b', 'a'].entries()) {
      await recordAgent(service, {
        name,
        status: name === 'skip' ? 'error' : 'ok',
        startedAt: `2026-11-25T10:00:0${i}.000Z`
      })
    }
    await page.open(`${service.pages}/traces?range=all`)
    await page.open(`${service.pages}/traces?status=ok&range=all`)
    await page.click('a.open', 'a')
    const heading = (name: string) => page.until(`document.querySelector('.trace-head h1')?.textContent === '${name}'`)
    await heading('a')
    await page.press('j')
    await heading('b')
    await page.press('j')
    await heading('c')
    await page.press('j')
    await page.untilText('This is the last trace', '.toasts')
    await page.press('k')
    await heading('b')
    await page.press('Escape')
    await page.until("location.search === '?status=ok&range=all' && location.pathname.endsWith('/traces')")
    t.same(page.errors, [])
  })

  t.test('a running trace updates while it is open, and the list adds new traces', async t => {
    const service = await begin()
    await page.open(`${service.pages}/traces?range=all`)
    await page.untilText('No traces yet')
    t.match(await page.evaluate("document.querySelector('.code pre').textContent"), `curl ${service.url}/api/v1/traces`)
    const { id } = await recordRunning(service)
    await page.untilText('running', '.traces')
    await page.click('a.open', 'running')
    await page.untilText('0 spans', '.pane-bar')
    const now = new Date().toISOString()
    const span = { id: '0123456789abcdef', name: 'first step', kind: 'tool', startedAt: now, endedAt: now, input: 'x' }
    await service.call('POST', `/api/v1/traces/${id}/spans`, { body: { schemaVersion: 1, spans: [span] } })
    await page.untilText('first step', '.row')
    await service.call('POST', `/api/v1/traces/${id}/end`, {
      body: { schemaVersion: 1, endedAt: new Date().toISOString(), status: 'ok', costUsd: 0.5 }
    })
    await page.untilText('$0.50', '.trace-facts')
    t.same(page.errors, [])
    const other = await recordRunning(service)
    await page.open(`${service.pages}/traces/${other.id}`)
    await page.untilText('0 spans', '.pane-bar')
    await service.call('DELETE', `/api/v1/traces/${other.id}`)
    await page.untilText('no such', '[role=alert]')
    // The browser reports a 404 later than the page shows it. Once another page is open, it has reported all of them.
    while (page.errors.length === 0) await page.evaluate('1')
    await page.open(`${service.pages}/scores`)
  })

  t.test('new traces wait while the list is scrolled down, and appear at the top', async t => {
    const service = await begin()
    for (let i = 0; i < 50; i++) await recordAgent(service, { name: `old ${i}`, spans: [] })
    await page.open(`${service.pages}/traces?range=all`)
    await page.until("document.querySelectorAll('.traces a.open').length === 50")
    await page.click('button', 'Live')
    await page.evaluate('scrollTo(0, 600)')
    const later = { startedAt: '2026-11-25T10:10:00Z', endedAt: '2026-11-25T10:10:01Z', spans: [] }
    await recordAgent(service, { name: 'new one', ...later })
    await page.untilText('1 new', '.arrived')
    t.equal(await page.evaluate('scrollY'), 600, 'nothing moved')
    t.notMatch(await page.evaluate("document.querySelector('.traces').textContent"), 'new one')
    await page.click('.arrived')
    await page.untilText('new one', '.traces tr:first-child')
    await recordAgent(service, { name: 'another one', ...later })
    await page.untilText('another one', '.traces')
    await page.until("document.querySelectorAll('.traces a.open').length === 50")
    t.same(page.errors, [])
  })

  t.test('texts are found, step by step', async t => {
    const service = await begin()
    const { id, spans } = await recordAgent(service)
    await page.open(`${service.pages}/traces?range=all`)
    await page.open(`${service.pages}/traces/${id}`)
    await page.untilText('agent run', '.row')
    await page.press('f')
    await page.until("document.activeElement.id === 'find'")
    await page.type('in transit')
    await page.untilText('2 matches in 2 spans')
    await page.press('Enter')
    await page.until(`location.search.includes('${spans[2]}')`)
    await page.press('Enter')
    await page.until(`location.search.includes('${spans[3]}')`)
    await page.press('Escape')
    await page.until("document.activeElement.id === 'spans' && !location.search.includes('q=')")
    const slow = await recordAgent(service, {
      spans: [
        {
          id: '00000000000000aa',
          name: 'slow',
          startedAt: '2026-11-25T10:00:00Z',
          endedAt: '2026-11-25T10:00:01Z',
          input: `${'a'.repeat(60)}!`
        }
      ]
    })
    await page.open(`${service.pages}/traces/${slow.id}`)
    await page.untilText('slow', '.row')
    await page.press('f')
    await page.type('/(a+)+$/')
    await page.untilText('This regular expression takes too long', '.said')
    await page.evaluate("document.getElementById('find').select()")
    await page.type('/a{60}!/')
    await page.untilText('1 match in 1 span', '.said')
    await page.evaluate("document.getElementById('find').select()")
    await page.type('/(/')
    await page.untilText('no matches', '.said')
    t.same(page.errors, [])
  })

  t.test("copied and downloaded data equals the API's", async t => {
    const service = await begin()
    const { id, spans } = await recordAgent(service)
    await page.open(`${service.pages}/traces?range=all`)
    // Replaces the clipboard with one that the test can read.
    await page.send('Page.addScriptToEvaluateOnNewDocument', {
      source:
        "Object.defineProperty(navigator, 'clipboard', { value: { writeText: async text => { globalThis.copied = text } } })"
    })
    await page.open(`${service.pages}/traces/${id}?span=${spans[3]}`)
    await page.untilText('lookup_order', '.message')
    const copied = async (label: string) => {
      await page.evaluate('globalThis.copied = undefined')
      await page.click('.menu button', 'Copy')
      await page.click('[role=menuitem]', label)
      return String(await page.until('globalThis.copied'))
    }
    const api = (await service.call('GET', `/api/v1/traces/${id}`)).text
    const shown = JSON.parse(api)
    t.match(await copied('Copy link'), `/traces/${id}?span=${spans[3]}`)
    t.equal(await copied('Trace ID'), id)
    t.same(JSON.parse(await copied('Span as JSON')), shown.spans[3])
    t.same(JSON.parse(await copied('Whole trace as JSON')).spans, shown.spans)
    t.match(await copied('curl'), `curl ${service.url}/api/v1/traces/${id} -H "Authorization: Bearer $SPOOR_API_KEY"`)
    const messages = await copied('Messages as text')
    t.match(messages, /^system:\nYou are \*\*careful\*\*\./)
    t.match(messages, /\(calls lookup_order\)/)
    t.match(messages, /It comes \*\*tomorrow\*\*\.$/)
    await page.click('.menu button', 'Copy')
    await page.until("!!document.querySelector('a[download]')")
    const saved = await page.evaluate("fetch(document.querySelector('a[download]').href).then(answer => answer.text())")
    t.equal(saved, api)
    await page.press('Escape')
    await page.evaluate('globalThis.copied = undefined')
    await page.press('y')
    t.match(await page.until('globalThis.copied'), `span=${spans[3]}`)
    t.same(page.errors, [])
  })

  t.test('a link signs in once, and problems with another are reported', async t => {
    await addPerson(server, 'grace@example.com', 'viewer')
    const token = await linkFor(server, 'grace@example.com')
    const page = visitor(await openPage(t))
    await page.open(`${server.url}/app/p/default/traces`)
    await page.until("location.pathname.endsWith('/app/sign-in')")
    await page.open(`${server.url}/app/sign-in#${token}`)
    await page.untilText('Traces', 'h1')
    t.notMatch(await page.evaluate('location.href'), token)
    const other = visitor(await openPage(t))
    await other.open(`${server.url}/app/sign-in#${token}`)
    await other.untilText('This link has already been used', '[role=alert]')
  })

  t.test('a viewer is offered no action that viewers cannot perform', async t => {
    const service = await begin()
    const { id } = await recordAgent(service)
    const page = await visit(t, server, 'viewer')
    await page.open(`${service.pages}/traces/${id}`)
    await page.untilText('agent run', '.row')
    t.equal(
      await page.evaluate(
        "[...document.querySelectorAll('button')].some(each => /Annotate|Delete/.test(each.textContent))"
      ),
      false
    )
    await page.press('a')
    t.equal(await page.evaluate("document.querySelector('dialog')"), null)
    await page.open(`${service.pages}/settings/keys`)
    await page.untilText('Only owners can see this account’s keys')
    t.same(page.errors, [])
  })
})
