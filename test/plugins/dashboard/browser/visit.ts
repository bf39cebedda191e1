/** A browser that is signed in to the dashboard of a test's service, and the actions that tests take in it. */
import { readFile } from 'node:fs/promises'
import type { Test } from 'tap'
import type { Role } from '../../../../lib/schema/roles.ts'
import { addPerson, linkFor } from '../../../fixtures/service/people.ts'
import type { TestService } from '../../../fixtures/service/service.ts'
import { openPage, type Page } from '../../browser.ts'

const PATIENCE_MS = 20_000
const LOOK_MS = 25
/** Reports violations of the page's policies as errors. */
const REPORTS =
  "addEventListener('securitypolicyviolation', event => console.error('CSP', event.violatedDirective, event.blockedURI))"

export interface Visit extends Page {
  /** Waits until an expression is true in the page. Returns the expression's value. */
  until(expression: string): Promise<unknown>
  /** Waits for an element with the given text, in the page or within the selector's matches. */
  untilText(text: string, selector?: string): Promise<void>
  press(key: string, modifiers?: { readonly shift?: boolean }): Promise<void>
  type(text: string): Promise<void>
  /** Clicks the first of the selector's matches that has the given text or name. */
  click(selector: string, text?: string): Promise<void>
  /** Returns axe-core's findings as lines; `within` limits them to the first match of a selector. */
  violations(only?: { readonly within?: string }): Promise<string[]>
  colours(theme: 'light' | 'dark'): Promise<void>
  width(px: number, height?: number): Promise<void>
}

const CODES: Readonly<Record<string, number>> = {
  Enter: 13,
  Escape: 27,
  Tab: 9,
  ArrowDown: 40,
  ArrowUp: 38,
  ArrowLeft: 37,
  ArrowRight: 39
}

export function visitor(page: Page): Visit {
  const { evaluate, send } = page
  /** The page itself polls, because polling from this process would use CPU time in three processes. */
  const until = async (expression: string) => {
    const end = Date.now() + PATIENCE_MS
    for (;;) {
      const look = `new Promise(resolve => {
        const look = () => {
          const value = ${expression}
          if (value || Date.now() > ${end}) resolve(value)
          else setTimeout(look, ${LOOK_MS})
        }
        look()
      })`
      const value = await evaluate(look).catch(async error => {
        // The page may be navigating to another address.
        if (Date.now() > end) throw error
        await new Promise(resolve => setTimeout(resolve, LOOK_MS))
      })
      if (value) return value
      if (Date.now() > end) {
        const seen = await evaluate('location.href + " " + document.body.innerText.slice(0, 1500)')
        throw new Error(`Not so in ${PATIENCE_MS} ms: ${expression}\n${seen}\n${page.errors.join('\n')}`)
      }
    }
  }
  let axe: string | undefined
  return {
    ...page,
    until,
    async untilText(text, selector = 'body') {
      await until(
        `[...document.querySelectorAll(${JSON.stringify(selector)})].some(each => each.textContent.includes(${JSON.stringify(text)}))`
      )
    },
    async press(key, { shift = false } = {}) {
      const text = key === 'Enter' ? '\r' : key.length === 1 ? key : undefined
      const common = {
        key,
        modifiers: shift ? 8 : 0,
        windowsVirtualKeyCode: CODES[key] ?? key.toUpperCase().charCodeAt(0)
      }
      await send('Input.dispatchKeyEvent', {
        type: text === undefined ? 'rawKeyDown' : 'keyDown',
        ...common,
        ...(text !== undefined && { text })
      })
      await send('Input.dispatchKeyEvent', { type: 'keyUp', ...common })
    },
    async type(text) {
      await send('Input.insertText', { text })
    },
    async click(selector, text = '') {
      const [chosen, wanted] = [JSON.stringify(selector), JSON.stringify(text)]
      const find = `[...document.querySelectorAll(${chosen})].find(each => (each.textContent + ' ' + (each.getAttribute('aria-label') ?? '')).includes(${wanted}))`
      await until(`!!${find}`)
      await evaluate(`${find}.click()`)
    },
    async violations({ within = 'html' } = {}) {
      axe ??= await readFile(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
      if (!(await evaluate("'axe' in globalThis"))) await evaluate(`${axe};0`)
      // While a dialog fades in, its colours have less contrast.
      const finite = 'document.getAnimations().filter(each => each.effect.getComputedTiming().iterations !== Infinity)'
      await evaluate(`Promise.allSettled(${finite}.map(each => each.finished)).then(() => 0)`)
      const found = await evaluate(`axe.run(
        document.querySelector(${JSON.stringify(within)}), { resultTypes: ['violations'] }
      ).then(({ violations }) => violations.flatMap(({ id, nodes }) =>
        nodes.map(({ target, failureSummary }) => id + ' ' + target + ': ' + failureSummary)))`)
      return found as string[]
    },
    async colours(theme) {
      await send('Emulation.setEmulatedMedia', {
        features: [
          { name: 'prefers-color-scheme', value: theme },
          // Colours that fade would have a different contrast for a moment.
          { name: 'prefers-reduced-motion', value: 'reduce' }
        ]
      })
    },
    async width(px, height = 800) {
      await send('Emulation.setDeviceMetricsOverride', { width: px, height, deviceScaleFactor: 1, mobile: px < 500 })
    }
  }
}

/** Opens a page and signs a user in by a link. */
export async function visit(
  t: Test,
  service: TestService,
  role: Role = 'owner',
  address = service.url
): Promise<Visit> {
  const page = visitor(await openPage(t))
  await page.send('Page.addScriptToEvaluateOnNewDocument', { source: REPORTS })
  await page.width(1280)
  const email = `${role}-${Math.random().toString(36).slice(2)}@example.com`
  await addPerson(service, email, role)
  await page.open(`${address}/app/sign-in#${await linkFor(service, email)}`)
  await page.until(
    `/\\/traces$/.test(location.pathname) && document.querySelector('h1')?.textContent.startsWith('Traces')`
  )
  return page
}

export interface OwnProject extends TestService {
  readonly slug: string
  /** The address of the project's pages: `/app/p/` and the project's slug. */
  readonly pages: string
}

let projects = 0

/** Creates a project for one test, so that tests can share a service and a visitor. Calls use a key of this project. */
export async function ownProject(service: TestService, address = service.url): Promise<OwnProject> {
  const slug = `project-${++projects}`
  await service.makeProject(slug)
  const { key } = await service.makeKey({ project: slug })
  const call: TestService['call'] = (method, path, options = {}) => service.call(method, path, { key, ...options })
  return { ...service, slug, key, call, pages: `${address}/app/p/${slug}` }
}

/** Returns the requests to other sites. */
export function elsewhere({ requests }: Page, origin: string): string[] {
  return requests.filter(url => !url.startsWith(`${origin}/`) && !/^(?:about:|blob:|chrome)/.test(url))
}
