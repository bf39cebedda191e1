/** Tests settings, the user's own account, metadata, deletions and times in a browser. */
import t from 'tap'
import { addPerson, linkFor } from '../../../fixtures/service/people.ts'
import { testService } from '../../../fixtures/service/service.ts'
import { until } from '../../../fixtures/until.ts'
import { hasChromium, openPage } from '../../browser.ts'
import { recordAgent } from './traces.ts'
import { visit, visitor } from './visit.ts'

t.test('in a browser', async t => {
  if (!(await hasChromium())) {
    t.comment("Debian's package chromium is not installed: no page was opened in a browser.")
    return
  }
  const service = await testService(t)
  const page = await visit(t, service)
  const { url, call } = service
  const fill = async (selector: string, text: string) => {
    await page.until(`!!document.querySelector(${JSON.stringify(selector)})`)
    await page.evaluate(
      `(() => { const field = document.querySelector(${JSON.stringify(selector)}); field.focus(); field.select?.() })()`
    )
    await page.type(text)
  }

  // This test makes the service's first recording, because a server rechecks only every few seconds which projects are
  // searched.
  t.test('search is turned on, finds a newly recorded word with its context, and is turned off', async () => {
    await page.open(`${url}/app/p/default/settings/project`)
    await page.click('button', 'Turn on')
    await page.untilText('On: all traces are searchable.')
    const { id } = await recordAgent(service, { output: 'A réfund of 17 € comes tomorrow.' })
    await until(async () => (await service.database.pool.run(sql => sql`select from search_terms`)).length > 0)
    await page.open(`${url}/app/p/default/traces?range=all`)
    await page.until("!!document.getElementById('filter')")
    await fill('#filter', 'REFUND tomorrow')
    await page.press('Enter')
    await page.until(
      `[...document.querySelectorAll('.excerpt mark')].map(each => each.textContent).join() === 'réfund,tomorrow'`
    )
    await page.until(`document.querySelector('.traces a').href.includes(${JSON.stringify(id)})`)
    await page.open(`${url}/app/p/default/settings/project`)
    await page.click('button', 'Turn off and delete the index')
    await page.untilText('Search is off')
    await page.open(`${url}/app/p/default/traces`)
    await page.until("!!document.getElementById('filter')")
    await fill('#filter', 'refund')
    await page.press('Enter')
    await page.untilText('Full-text search is off for this project. Turn it on in the settings', '[role=alert]')
  })

  t.test('an old sign-in must be renewed, and the action continues', async t => {
    const makeStale = async () => {
      await service.database.pool.run(sql => sql`update web_sessions set proven_at = null`)
      await service.database.pool.run(sql => sql`select pg_notify('spoor_keys', 'a test')`)
      const ask =
        "fetch('api/p/default/keys', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }).then(answer => answer.status)"
      await until(async () => (await page.evaluate(ask)) === 403)
    }
    await page.open(`${url}/app/p/default/settings/keys`)
    await page.click('button', 'Create a key')
    await fill('dialog input', 'after signing in again')
    await makeStale()
    await page.click('dialog button[type=submit]', 'Create')
    await page.untilText('Sign in again to continue', 'dialog h2')
    const { email } = (await page.evaluate(
      "fetch('api/session').then(answer => answer.json()).then(({ user }) => user)"
    )) as { email: string }
    const field = "[...document.querySelectorAll('dialog')].at(-1).querySelector('input')"
    await addPerson(service, 'another@example.com', 'owner')
    const again = "[...document.querySelectorAll('dialog')].find(each => each.textContent.includes('Sign in again'))"
    await page.untilText(`Sign in as ${email} to continue.`, 'dialog')
    await page.evaluate(`${again}.querySelector('input').focus()`)
    await page.type(`${url}/app/sign-in#${await linkFor(service, 'another@example.com')}`)
    await page.press('Enter')
    await page.untilText('is for somebody else', 'dialog .fault')
    await page.evaluate(`${again}.querySelector('input').select()`)
    await page.type(`${url}/app/sign-in#${await linkFor(service, email)}`)
    await page.press('Enter')
    await page.untilText('it is shown only once', 'dialog')
    t.match(await page.evaluate(`${field}.value`), /^spoor_live_/)
    await page.click('dialog button', 'Done')
    await page.untilText('after signing in again', '.plain-table')
    await page.click('button', 'Revoke after signing in again')
    await page.click('dialog button[type=submit]', 'Revoke')
    await page.until("!document.querySelector('dialog')")
  })

  t.test('a key is created, shown once, rotated and revoked', async t => {
    await page.open(`${url}/app/p/default/settings/keys`)
    await page.click('button', 'Create a key')
    await fill('dialog input', 'for the tests')
    await page.click('dialog button[type=submit]', 'Create')
    await page.untilText('it is shown only once', 'dialog')
    const secret = (await page.evaluate("document.querySelector('dialog input').value")) as string
    t.match(await call('GET', '/api/v1/key', { key: secret }), {
      status: 200,
      body: { scopes: ['traces:write', 'traces:read'] }
    })
    await page.click('dialog button', 'Done')
    await page.untilText('for the tests', '.plain-table')
    t.notMatch(await page.evaluate('document.body.innerText'), secret)
    await page.click('button', 'Rotate for the tests')
    await page.click('dialog button[type=submit]', 'Rotate')
    await page.untilText('Your new key', 'dialog')
    const renewed = (await page.evaluate("document.querySelector('dialog input').value")) as string
    t.equal((await call('GET', '/api/v1/key', { key: secret })).status, 401)
    t.equal((await call('GET', '/api/v1/key', { key: renewed })).status, 200)
    await page.click('dialog button', 'Done')
    await page.untilText('Show 2 inactive')
    await page.click('button', 'Revoke for the tests')
    await page.click('dialog button[type=submit]', 'Revoke')
    await page.until("!document.querySelector('dialog')")
    t.equal((await call('GET', '/api/v1/key', { key: renewed })).status, 401)
    await page.click('button', 'Show 3 inactive')
    await page.untilText('(revoked)', '.plain-table')
  })

  t.test('a user is invited by a link, gets another role, and is removed', async t => {
    await page.open(`${url}/app/p/default/settings/members`)
    await page.click('button', 'Invite')
    await fill('dialog input[type=email]', 'grace@example.com')
    await page.click('dialog label', 'viewer')
    await page.click('dialog button[type=submit]')
    await page.untilText('Sign-in link', 'dialog')
    const link = (await page.evaluate("document.querySelector('dialog input').value")) as string
    const guest = visitor(await openPage(t))
    await guest.open(link)
    await guest.untilText('Traces', 'h1')
    await guest.open(`${url}/app/p/default/settings/members`)
    await guest.untilText('Only owners')
    await page.click('dialog button', 'Done')
    await page.untilText('grace@example.com', '.plain-table')
    await service.database.pool.run(
      sql => sql`update memberships set by_claim = true
        where user_id = (select id from users where email = 'grace@example.com')`
    )
    await page.open(`${url}/app/p/default/settings/members`)
    await page.untilText('from the sign-in provider', '.plain-table')
    await page.untilText('updated at each sign-in', '.settings')
    await page.evaluate(`(() => {
      const select = document.querySelector('[aria-label="Role for grace@example.com"]')
      select.value = 'member'
      select.dispatchEvent(new Event('change', { bubbles: true }))
    })()`)
    await page.untilText('grace@example.com is member', '.toasts')
    await page.until("!document.querySelector('.settings').textContent.includes('sign-in provider')")
    await page.click('button', 'Remove grace@example.com')
    await page.click('dialog button[type=submit]', 'Remove')
    await page.until("!document.querySelector('dialog')")
    await page.until("!document.querySelector('.plain-table').textContent.includes('grace@example.com')")
  })

  t.test('the project is renamed, and a password is set', async t => {
    await page.open(`${url}/app/p/default/settings/project`)
    await fill('form input', 'Bookshop')
    await page.press('Enter')
    await page.untilText('Bookshop', '.projects')
    await page.open(`${url}/app/account`)
    await fill('input[autocomplete=new-password]', 'a long enough password')
    await page.press('Enter')
    await page.untilText('Change your password')
    await page.untilText('(this browser)', '.plain-table')
    const guest = visitor(await openPage(t))
    await guest.open(`${url}/app/sign-in`)
    await guest.until("document.querySelector('[autocomplete=username]')")
    const isTaken = await guest.evaluate(`(() => {
      const field = document.querySelector('[autocomplete=username]')
      field.value = 'owner'
      return field.checkValidity()
    })()`)
    t.ok(isTaken, 'the first user has no e-mail address, and can sign in')
  })

  t.test('metadata is edited with all digits, and invalid JSON is reported', async t => {
    const { id } = await recordAgent(service)
    await page.open(`${url}/app/p/default/traces/${id}`)
    await page.untilText('agent run', '.row')
    await page.click('.menu button', 'More')
    await page.click('[role=menuitem]', 'Edit metadata')
    await fill('dialog textarea', '{"release":')
    await page.click('dialog button[type=submit]')
    await page.untilText('Invalid JSON', 'dialog [role=alert]')
    await fill('dialog textarea', '{"release": "2.14.0", "id": 107505301260286111, "more": [1.50]}')
    await page.click('dialog button[type=submit]')
    await page.until("!document.querySelector('dialog')")
    const { text } = await call('GET', `/api/v1/traces/${id}`)
    t.match(text, '"id":107505301260286111')
    t.match(text, '"more":[1.50]')
    t.match(text, '"ticket":48213', 'omitted fields are kept')
    await page.click('.menu button', 'More')
    await page.click('[role=menuitem]', 'Metadata and details')
    await page.untilText('Metadata edited', 'dialog')
    await page.press('Escape')
    await page.click('.row')
    await page.click('[role=tab]', 'Metadata 4')
    await page.untilText('107505301260286111', '.json')
  })

  t.test('traces are deleted, one on its page and several in the list', async t => {
    const ids: string[] = []
    for (let i = 0; i < 3; i++) ids.push((await recordAgent(service, { name: `unwanted ${i}` })).id)
    await page.open(`${url}/app/p/default/traces/${ids[0]}`)
    await page.click('.menu button', 'More')
    await page.click('[role=menuitem]', 'Delete trace')
    await page.click('dialog button[type=submit]')
    await page.untilText('Trace deleted', '.toasts')
    await page.until("location.pathname.endsWith('/traces')")
    await page.open(`${url}/app/p/default/traces?range=all`)
    await page.click('.traces input', 'Select unwanted 1')
    await page.click('.traces input', 'Select unwanted 2')
    await page.untilText('2 traces selected', '.selection')
    await page.click('.selection button', 'Delete')
    await fill('dialog input', '3')
    await page.click('dialog button[type=submit]')
    await page.untilText('Type 2 to delete', 'dialog [role=alert]')
    await fill('dialog input', '2')
    await page.click('dialog button[type=submit]')
    await page.until("!document.querySelector('.traces')?.textContent.includes('unwanted')")
    for (const id of ids) t.equal((await call('GET', `/api/v1/traces/${id}`)).status, 404)
  })

  t.test('columns are chosen and moved by keyboard, and are kept', async () => {
    await page.open(`${url}/app/p/default/traces?range=all`)
    await page.click('button', 'Columns')
    await page.click('dialog label', 'Session')
    await page.click('dialog button', 'Move Session up')
    await page.press('Escape')
    const titles = "[...document.querySelectorAll('.traces th')].slice(1).map(each => each.textContent).join()"
    await page.until(`${titles}.endsWith('Spans,Session,Scores')`)
    await page.open(`${url}/app/p/default/traces?range=all`)
    await page.until(`${titles}.endsWith('Spans,Session,Scores')`)
  })

  t.test("a trace's view and text format are kept", async () => {
    const { id, spans } = await recordAgent(service)
    const address = `${url}/app/p/default/traces/${id}?span=${spans[1]}`
    await page.open(address)
    await page.untilText('You are careful.', '.message')
    await page.click('.tabs button', 'Raw')
    await page.untilText('You are **careful**.', '.message')
    await page.click('.pane-bar button', 'Log')
    await page.until("!!document.querySelector('.rows.log')")
    await page.open(address)
    await page.untilText('You are **careful**.', '.message')
    await page.until("!!document.querySelector('.rows.log')")
    await page.click('.pane-bar button', 'Tree')
  })

  t.test("times are in the visitor's zone, or UTC", async () => {
    const { id } = await recordAgent(service, { name: 'timed' })
    for (const [timezoneId, shown] of [
      ['America/New_York', '05:00:00'],
      ['Asia/Kolkata', '15:30:00'],
      ['Europe/Berlin', '11:00:00']
    ] as const) {
      await page.send('Emulation.setTimezoneOverride', { timezoneId })
      await page.open(`${url}/app/p/default/traces/${id}`)
      await page.untilText(shown, '.panel-head')
    }
    await page.click('.zone')
    await page.untilText('10:00:00', '.panel-head')
    await page.click('.zone')
    await page.untilText('11:00:00', '.panel-head')
  })
  t.same(
    page.errors.filter(error => !/status of 4\d\d/.test(error)),
    []
  )
})
