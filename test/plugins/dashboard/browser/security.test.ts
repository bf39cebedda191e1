/** Tests the audit log and two-step sign-in in a browser. */
import { Secret, TOTP } from 'otpauth'
import t from 'tap'
import { givePassword } from '../../../fixtures/service/people.ts'
import { testService } from '../../../fixtures/service/service.ts'
import { hasChromium } from '../../browser.ts'
import { visit } from './visit.ts'

const PASSWORD = 'correct horse battery'

t.test('in a browser', async t => {
  if (!(await hasChromium())) {
    t.comment("Debian's package chromium is not installed: no page was opened in a browser.")
    return
  }
  const service = await testService(t)
  const page = await visit(t, service)
  const { url } = service
  const fill = async (selector: string, text: string) => {
    await page.until(`!!document.querySelector(${JSON.stringify(selector)})`)
    await page.evaluate(
      `(() => { const field = document.querySelector(${JSON.stringify(selector)}); field.focus(); field.select?.() })()`
    )
    await page.type(text)
  }
  const email = (await page.evaluate(
    "fetch('/app/api/session').then(answer => answer.json()).then(({ user }) => user.email)"
  )) as string

  await t.test('owners read the audit log, choose a group, and see nothing that another page hides', async t => {
    await page.open(`${url}/app/p/default/settings/audit`)
    await page.untilText('Signed in', 'td')
    t.match(await page.evaluate("document.querySelector('tbody tr').innerText"), new RegExp(email))
    await page.evaluate(`(() => {
      const choice = document.querySelector('select[aria-label=Actions]')
      choice.value = 'views'
      choice.dispatchEvent(new Event('change', { bubbles: true }))
    })()`)
    await page.untilText('Opened traces are recorded if the server runs with AUDIT_VIEWS=on.')
    t.match(await page.evaluate("document.querySelector('a[download]').href"), /audit-file\?group=views$/)
    t.same(await page.violations(), [])
  })

  await t.test('two-step sign-in is turned on with a code, required, and turned off', async t => {
    await givePassword(service, email, PASSWORD)
    service.app.forget()
    await page.open(`${url}/app/account`)
    await page.untilText('Two-step sign-in', 'h2')
    await page.click('button', 'Turn on')
    await page.until("document.querySelector('.qr-code path')?.getAttribute('d').length > 1000")
    const secret = (await page.evaluate("document.querySelector('dialog [readonly]').value")) as string
    t.match(secret, /^[A-Z2-7]{32}$/)
    const codeOf = (steps: number) =>
      new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + steps * 30_000 })
    t.same(await page.violations(), [])
    await fill('dialog input[autocomplete=one-time-code]', codeOf(0))
    await page.click('dialog button[type=submit]', 'Turn on')
    await page.untilText('Recovery codes', 'dialog h2')
    const codes = (await page.evaluate("document.querySelector('.recovery-codes').innerText")) as string
    t.match(codes, /^(?:[2-9a-z-]{19}\n){9}[2-9a-z-]{19}\n?$/)
    await page.click('dialog button', 'I have stored them')
    await page.untilText('10 unused recovery codes')

    await page.evaluate("fetch('/app/api/session', { method: 'DELETE' })")
    await page.open(`${url}/app/sign-in`)
    await fill('input[autocomplete=username]', email)
    await fill('input[type=password]', PASSWORD)
    await page.click('button[type=submit]', 'Sign in')
    await page.untilText('Enter the code that your authenticator app shows', '[role=alert]')
    await fill('input[autocomplete=one-time-code]', codeOf(1))
    await page.click('button[type=submit]', 'Sign in')
    await page.until("!location.pathname.endsWith('/sign-in')")

    await page.open(`${url}/app/account`)
    await page.click('button', 'Turn off')
    await page.click('dialog button[type=submit]', 'Turn off')
    await page.until("[...document.querySelectorAll('button')].some(each => each.textContent === 'Turn on')")
    await page.open(`${url}/app/p/default/settings/members`)
    await page.untilText('Require two-step sign-in for members')
  })
})
