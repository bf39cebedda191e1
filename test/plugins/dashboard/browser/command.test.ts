/** Tests the command box in a browser, and signing in if an OpenID Connect provider is the only way to sign in. */
import t from 'tap'
import { readConfig } from '../../../../lib/config.ts'
import { testProvider } from '../../../fixtures/oidc/provider.ts'
import { freePort } from '../../../fixtures/ports.ts'
import { testService } from '../../../fixtures/service/service.ts'
import { hasChromium, openPage } from '../../browser.ts'
import { recordAgent } from './traces.ts'
import { visit, visitor } from './visit.ts'

const NO_BROWSER = "Debian's package chromium is not installed: no page was opened in a browser."

t.test('the command box opens existing places by keyboard, and remembers them until sign-out', async t => {
  if (!(await hasChromium())) return t.comment(NO_BROWSER)
  const service = await testService(t)
  const { id } = await recordAgent(service)
  const page = await visit(t, service)
  const open = async () => {
    await page.press('/')
    await page.until("document.activeElement?.getAttribute('role') === 'combobox'")
  }
  const chosen = `document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))?.textContent`
  const gone = '!document.querySelector("dialog[open]")'

  // A known id leads to its trace, and an unknown id finds nothing.
  await open()
  await page.type(id.toUpperCase())
  await page.until(`${chosen}?.includes('support-agent')`)
  await page.press('Enter')
  await page.until(`location.pathname.endsWith('/traces/${id}') && ${gone}`)
  await open()
  await page.until(`${chosen}?.includes('Recent')`)
  await page.type('0123456789abcdef0123456789abcdef')
  await page.untilText('No trace, session, user, tag or page has this name or ID.', '.command-box [role=status]')
  await page.press('Escape')
  await page.until(gone)

  // The box finds a session by a prefix, a user, a tag, a name, a page and a command.
  for (const [typed, entry, path] of [
    ['s/', 's/1 ä', '/sessions/s%2F1%20%C3%A4'],
    ['u-3', 'User', '/users/u-3'],
    ['billing', 'with this tag', '/traces?range=all&tag=billing'],
    ['support', 'with this name', '/traces?name=support-agent&range=all'],
    ['member', 'Settings', '/settings/members'],
    ['status:ok step:"chat one"', 'Search traces for', '/traces?status=ok&step=chat+one&range=all']
  ] as const) {
    await open()
    await page.type(typed)
    await page.until(`[...document.querySelectorAll('.entry')].some(each => each.textContent.includes('${entry}'))`)
    await page.until(`${chosen}?.includes('${entry}')`)
    await page.press('Enter')
    await page.until(`(location.pathname + location.search).endsWith('${path}') && ${gone}`)
  }
  await open()
  await page.type('show')
  await page.press('ArrowDown')
  await page.press('ArrowUp')
  await page.until(`${chosen}?.includes('Show times in UTC')`)
  await page.press('Enter')
  await page.until("document.querySelector('.zone').textContent === 'UTC'")

  await open()
  await page.type('sign out')
  await page.press('Enter')
  await page.until("location.pathname.endsWith('/app/sign-in')")
  t.equal(await page.evaluate("localStorage.getItem('spoor-recent')"), null)
  t.same(
    // The expected errors are responses for the unknown id, and for requests sent while the user signed out.
    page.errors.filter(error => !/status of 40[14]/.test(error)),
    []
  )
})

t.test('pairs of keys work however fast they follow each other, except in a field', async t => {
  if (!(await hasChromium())) return t.comment(NO_BROWSER)
  const page = await visit(t, await testService(t))
  await page.untilText('Traces', 'nav')
  const type = (keys: string) =>
    page.evaluate(`for (const key of ${JSON.stringify([...keys])}) {
      const event = new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true })
      document.activeElement.dispatchEvent(event)
    }`)
  for (const [keys, path] of [
    ['ge', 'errors'],
    ['gs', 'sessions'],
    ['xgu', 'users'],
    ['ggt', 'traces']
  ]) {
    await type(keys!)
    await page.until(`location.pathname.endsWith('/${path}')`)
  }
  await type('gxe')
  await page.press('/')
  await page.until("document.activeElement?.getAttribute('role') === 'combobox'")
  await type('gu')
  t.match(await page.evaluate('location.pathname'), /\/traces$/, 'neither a key between nor a field makes a pair')
})

t.test('if people can sign in only at a provider, the page redirects there and back, without a loop', async t => {
  if (!(await hasChromium())) return t.comment(NO_BROWSER)
  const port = await freePort()
  const base = `http://127.0.0.1:${port}`
  const provider = await testProvider(t, `${base}/app/api/sign-in/oidc/callback`)
  const config = readConfig({
    BASE_URL: base,
    OIDC_ISSUER: provider.issuer.href,
    OIDC_CLIENT_ID: provider.clientId,
    OIDC_CLIENT_SECRET: provider.clientSecret,
    OIDC_ROLES: '*:viewer',
    DASHBOARD_SIGN_IN: 'oidc'
  })
  const { baseUrl, oidc } = config
  await testService(t, { config: { port, baseUrl, oidc } })
  const page = visitor(await openPage(t))
  await page.width(1280)

  // A user who cancels sees the reason and the button.
  await page.open(`${base}/app/p/default/traces?status=error`)
  await page.untilText('The sign-in provider denied access.', '[role=alert]')
  await page.untilText('Sign in with your organisation')
  t.same(await page.violations(), [])
  provider.person = { sub: 'ada', email: 'ada@example.com', email_verified: true, name: 'Ada' }
  await page.click('a', 'Sign in with your organisation')
  await page.until(`location.href === '${base}/app/p/default/traces?status=error' && !!document.querySelector('.mine')`)
  await page.untilText('Traces', 'h1')

  // After signing out, users stay on the sign-in page.
  await page.click('.mine button')
  await page.click('[role=menuitem]', 'Sign out')
  await page.until("location.search === '?out'")
  await page.untilText('Sign in with your organisation')

  // A new visitor is redirected to the provider at once, and then to the requested page.
  await page.evaluate('sessionStorage.clear()')
  await page.open(`${base}/app/account`)
  await page.until(`location.href === '${base}/app/account'`)
  await page.untilText('provider', 'td')
  t.equal(await page.evaluate("document.body.textContent.includes('Set a password')"), false)
})
