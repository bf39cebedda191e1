/**
 * Takes the guide's screenshots of the dashboard (`npm run screenshots`; `-- NAME` takes a single one), with a server
 * on a new database, the traces of `spoor demo`, and Chromium. Run this script after the dashboard's appearance has
 * changed.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { recordDemo } from '../lib/demo/record.ts'
import { dataFolder, serve } from './fixtures/service/spoor.ts'
import { until } from './fixtures/until.ts'
import { hasChromium, openPage, type Page } from './plugins/browser.ts'

const FOLDER = fileURLToPath(new URL('../../plugins/docs/pictures/', import.meta.url))
const TRACES = 400
/** WebP of this quality shows text as sharply as PNG, in a third of the bytes. */
const FORMAT = { format: 'webp', quality: 82 }

interface Picture {
  readonly name: string
  readonly theme: 'light' | 'dark'
  readonly width: number
  readonly height: number
  /** The page's path after the project's path; the trace list's path if omitted. */
  readonly page?: string
  /** A trace's name. The newest trace of that name is opened from the list. If omitted, no trace is opened. */
  readonly trace?: string
  /** Whether the trace is compared with the previous trace of the same name. */
  readonly compared?: boolean
  /** The selected step of the trace or traces. */
  readonly step?: string
}

const PICTURES: readonly Picture[] = [
  { name: 'list', theme: 'light', width: 1280, height: 720 },
  { name: 'overview', theme: 'light', width: 1280, height: 800, page: 'overview?range=24h' },
  { name: 'failure', theme: 'light', width: 1280, height: 720, trace: 'travel-planner' },
  {
    name: 'conversation',
    theme: 'dark',
    width: 1280,
    height: 800,
    trace: 'bookseller',
    step: 'messages claude-opus-4-5'
  },
  {
    name: 'compare',
    theme: 'light',
    width: 1280,
    height: 800,
    trace: 'catalogue-search',
    compared: true,
    step: 'chat'
  },
  { name: 'session', theme: 'light', width: 1280, height: 800, page: 'sessions/demo-chat-2' },
  { name: 'scores', theme: 'light', width: 1280, height: 800, page: 'scores?name=helpfulness&range=24h' },
  { name: 'phone', theme: 'light', width: 390, height: 780, trace: 'review-change' }
]

/** A page has loaded once it contains enough of these elements. */
const ROWS = 'main tbody tr, main .turn .message'

process.exitCode = await main()

async function main(): Promise<number> {
  if (!(await hasChromium())) {
    console.error('screenshots: Chromium is needed at /usr/bin/chromium (Debian: apt install chromium)')
    return 1
  }
  const ends: (() => unknown)[] = []
  // The fixtures use only this method of a test.
  const t = { teardown: (end: () => unknown) => void ends.unshift(end) } as unknown as Test
  try {
    const { address, key, dashboard } = await serve(t, { DATA_DIR: await dataFolder(t) })
    await recordDemo(address, [key!], { count: TRACES }, count => {
      if (count === TRACES) console.log(`${count} traces are recorded`)
    })
    const page = await openPage(t)
    await page.open(dashboard!)
    // Opening another page earlier would interrupt the sign-in.
    await untilTrue(page, `location.pathname.endsWith('/traces')`)
    await mkdir(FOLDER, { recursive: true })
    const wanted = process.argv.slice(2)
    for (const picture of PICTURES) {
      if (wanted.length === 0 || wanted.includes(picture.name)) await take(page, address, picture)
    }
    return 0
  } finally {
    for (const end of ends) await end()
  }
}

async function take(page: Page, address: string, picture: Picture): Promise<void> {
  const { name, theme, width, height, page: shown, trace, compared = false, step } = picture
  await page.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 600 })
  const features = [{ name: 'prefers-color-scheme', value: theme }]
  await page.send('Emulation.setEmulatedMedia', { features })
  await untilTrue(page, `document.querySelector('h1') !== null`)
  await page.open(`${address}/app/p/default/${shown ?? 'traces'}`)
  await untilTrue(page, `document.querySelectorAll('${ROWS}').length > ${shown === undefined ? 10 : 3}`)
  if (shown === undefined) await untilTrue(page, `document.querySelector('.spark > p') !== null`)
  if (trace !== undefined) {
    await clickOn(page, 'main tbody a', trace)
    await untilTrue(page, `document.querySelector('[role=treeitem]') !== null`)
  }
  if (compared) {
    await clickOn(page, '.menu button', 'More')
    await clickOn(page, '[role=menuitem]', 'Compare with')
    await clickOn(page, 'dialog a', 'The previous')
    await untilTrue(page, `document.querySelector('[role=option]') !== null`)
  }
  if (step !== undefined) await clickOn(page, compared ? '[role=option]' : '[role=treeitem]', step)
  await untilTrue(page, `document.querySelector('.waiting') === null`)
  const { data } = await page.send('Page.captureScreenshot', FORMAT)
  const bytes = Buffer.from(data as string, 'base64')
  await writeFile(join(FOLDER, `${name}.webp`), bytes)
  console.log(`${name}.webp: ${width} x ${height}, ${Math.round(bytes.length / 1024)} KiB`)
}

/** Waits for an element with this text or name, and clicks it. */
async function clickOn(page: Page, selector: string, text: string): Promise<void> {
  const words = `(each.textContent + (each.getAttribute('aria-label') ?? ''))`
  const found = `[...document.querySelectorAll('${selector}')].find(each => ${words}.includes('${text}'))`
  await untilTrue(page, `${found} !== undefined`)
  await page.evaluate(`${found}.click()`)
}

async function untilTrue(page: Page, claim: string): Promise<void> {
  await until(async () => (await page.evaluate(claim)) === true)
}
