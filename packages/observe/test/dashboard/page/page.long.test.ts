/** The dashboard's page in a real browser: what it shows, that it goes on by itself, and that it can be used by keys. */
import { readFileSync } from 'node:fs'
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { LONGEST_WAIT } from '../../../../../test/support/until.js'
import { CHROMIUM, openBrowser } from './browser.js'
import { SCENES, type Scene } from './scenes.js'
import { type Played, play } from './server.js'

/** The text of an element as it is shown. */
// biome-ignore lint/performance/useDomNodeTextContent: what CSS hides is not shown
const seen = (element: Locator): Promise<string> => element.innerText()

describe.skipIf(CHROMIUM === undefined)("the dashboard's page", () => {
  let browser: Browser
  let context: BrowserContext
  let played: Played
  /** What the browser complained of: no test leaves any. */
  let complaints: string[]
  const loaded: (() => Promise<void>)[] = []

  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
  })
  afterEach(async () => {
    for (const close of loaded.splice(0)) await close()
    expect(complaints).toEqual([])
  })

  /** The page, showing a scene. */
  async function show(
    scene: Scene,
    more: Parameters<Browser['newContext']>[0] = {},
    hash = '',
  ): Promise<Page> {
    complaints = []
    played = await play(scene)
    context = await browser.newContext({
      viewport: { width: 1280, height: 720 },
      reducedMotion: 'reduce',
      ...more,
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    context.setDefaultTimeout(LONGEST_WAIT)
    const page = await context.newPage()
    // A connection that a test breaks is complained of, rightly.
    const listen = (text: string) => /ERR_|Failed to load resource/.test(text) || complaints.push(text)
    page.on('console', message => message.type() !== 'log' && listen(message.text()))
    page.on('pageerror', error => listen(error.message))
    loaded.push(() => context.close(), played.close)
    await page.goto(`${played.url}${hash}`)
    await page.locator('.live').waitFor()
    return page
  }

  const headline = (page: Page) => seen(page.locator('h1'))

  test('says whether the GPU waits, why, and what to do, on a laptop without scrolling', async () => {
    const scene = SCENES.underParallel()
    const page = await show(scene)
    await page.locator('.verdict.loss').waitFor()
    const lost = Math.round(100 * scene.nows[0].worst!.diagnosis.lost)
    expect(await headline(page)).toContain(`Your 4 GPUs lose up to ${lost} % of their time:`)
    expect(await headline(page)).toContain("4 workers can't decode fast enough")
    const { set, command } = scene.nows[0].worst!.diagnosis.remedies[0]
    expect(await seen(page.locator('.do'))).toContain(`${set!.workers} workers a rank instead of 4`)
    await page.getByRole('button', { name: 'Copy option' }).click()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(command)
    for (const part of ['.verdict', '.step', '.over-time', '.ranks', '.figures', '[role=tablist]']) {
      const box = (await page.locator(part).boundingBox())!
      expect(box.y + box.height, part).toBeLessThanOrEqual(720)
    }
    const ranks = await page.locator('.ranks ol .name').allInnerTexts()
    expect(ranks[0]).toBe('rank 2')
    expect(ranks).toHaveLength(4)
    // One loss, over one time, wherever it stands.
    expect(await seen(page.locator('.ranks ol .lost').first())).toContain(`${lost}`)
    expect(await headline(page)).toContain('last 1')
    expect(await seen(page.locator('#ranks-title'))).toContain('last 1')
    const notes = await page.locator('.figures small').allInnerTexts()
    for (const [i, whose] of ['all 4', 'rank 2', 'rank 2', 'rank 2', 'all 4', '4 GPUs'].entries())
      expect(notes[i]).toContain(whose)
  })

  test('of several runs one is chosen by a button', async () => {
    const page = await show(SCENES.choose())
    await page.getByText('3 runs are here: choose one.').waitFor()
    expect(await page.locator('.runs button').count()).toBe(3)
    await page.getByRole('button', { name: /cats\.json/ }).click()
    await page.waitForURL(/run=52877\.0/)
    expect(page.url()).toContain('token=secret')
  })

  test('a stream that beats is alive, though nothing else comes', async () => {
    const page = await show(SCENES.ended())
    await page.clock.install()
    for (let i = 0; i < 6; i++) {
      await page.clock.runFor(3000)
      played.tell('beat', { time: 0 })
      // The beat arrives by the real clock.
      await page.waitForTimeout(100)
    }
    expect(await seen(page.locator('.live'))).toContain('ended')
    await page.clock.runFor(12_000)
    await expect.poll(() => page.locator('.live.lost').count()).toBe(1)
  })

  test('a page that is hidden has no stream, and comes back when it is shown', async () => {
    const page = await show(SCENES.healthy())
    await page.locator('.verdict.good').waitFor()
    const hide = (hidden: boolean) =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, value: ${hidden} })
        document.dispatchEvent(new Event('visibilitychange'))`)
    await hide(true)
    await expect.poll(() => played.listeners).toBe(0)
    await expect.poll(() => page.title()).not.toContain('%')
    await hide(false)
    await expect.poll(() => played.listeners).toBe(1)
    await page.locator('.live.on').waitFor()
  })

  test('what has to be filled in is not offered to be copied', async () => {
    const scene = SCENES.cpuSaturated()
    for (const { worst } of scene.nows)
      worst!.diagnosis.remedies = [
        {
          action: 'Stop the other processes: taskset -cp CORES PID',
          command: 'taskset -cp CORES PID',
          predictedGain: 0.4,
          interval: [0.3, 0.5],
        },
      ]
    const page = await show(scene)
    await page.getByText('taskset -cp CORES PID').first().waitFor()
    expect(await page.getByRole('button', { name: /^Copy/ }).count()).toBe(0)
  })

  test('advises nothing while the tuner tries something', async () => {
    const page = await show(SCENES.tunerChecks())
    await page.getByText('The tuner is on it.').waitFor()
    expect(await page.getByRole('button', { name: /^Copy/ }).count()).toBe(0)
  })

  test('the parts of the bar add up, and are named in plain words', async () => {
    const page = await show(SCENES.cpuSaturated())
    await page.locator('.step .bar').waitFor()
    const words = await seen(page.locator('.step .legend'))
    const rightOf = async (selector: string) => {
      const boxes = await Promise.all((await page.locator(selector).all()).map(one => one.boundingBox()))
      return Math.max(...boxes.map(box => (box === null ? 0 : box.x + box.width)))
    }
    const [bar, last] = [await rightOf('.step .bar'), await rightOf('.step .bar > .part')]
    expect(Math.abs(bar - last)).toBeLessThan(1)
    for (const name of ['training', 'workers were decoding', 'workers waited for a core'])
      expect(words).toContain(name)
    const shares = [...words.matchAll(/([\d.]+)\u00a0%/g)].map(([, share]) => Number(share))
    const sum = shares.reduce((all, share) => all + share, 0)
    expect(sum).toBeGreaterThan(97)
    expect(sum).toBeLessThan(102)
  })

  test.each([
    ['healthy', 'Your GPU hardly ever waits:'],
    ['ioLatency', 'the storage takes long to answer, and too few reads are in flight'],
    ['cpuSaturated', 'all cores are busy'],
    ['transferBound', 'it waits for batches to be copied to the device'],
    ['starting', 'Watching the first steps.'],
    ['nothing', 'No run yet.'],
  ] as const)('%s: %s', async (name, words) => {
    const page = await show(SCENES[name]())
    await page.getByText(words).first().waitFor()
    expect(await headline(page)).toContain(words)
  })

  test('goes on as seconds arrive', async () => {
    const scene = SCENES.healthy()
    const page = await show(scene)
    await page.locator('.verdict.good').waitFor()
    const step = () => seen(page.locator('.figures small').nth(1))
    const before = await step()
    played.second()
    await expect.poll(step).not.toBe(before)
    const worse = SCENES.underParallel().nows[0]
    played.tell('now', worse)
    await page.locator('.verdict.loss').waitFor()
  })

  test('says at once that the connection is lost, and how old all is, and comes back by itself', async () => {
    const page = await show(SCENES.underParallel())
    await page.locator('.verdict.loss').waitFor()
    played.breakOff()
    await page.getByText(/Connection lost: what you see is \d+\ss old/).waitFor()
    expect(await headline(page)).toContain('lose')
    played.mend()
    await page.locator('.live.on').waitFor()
    expect(await page.locator('.notice').count()).toBe(0)
    played.second()
  })

  test('a run that ended stays to be read', async () => {
    const page = await show(SCENES.ended())
    await page.getByText('the trainer ended after 90 epochs').waitFor()
    const at = new Date(SCENES.ended().ended!.time)
    const clock = `${at.getHours()}`.padStart(2, '0')
    expect(await seen(page.locator('.notice.ended'))).toContain(`ended at ${clock}:`)
    expect(await headline(page)).toContain("can't decode fast enough")
    expect(await seen(page.locator('.live'))).toContain('ended')
  })

  test('every tab opens, by keys as well, and the address keeps it', async () => {
    const page = await show(SCENES.tunerAtWork())
    await page.locator('.verdict.good').waitFor()
    const shown: Record<string, RegExp> = {
      'what-if': /If the same work were fed in another way, then/,
      timeline: /trains/,
      workers: /the last second/,
      tuner: /Checked four times/,
      gpu: /SM active/,
      samples: /16 of 256 rows as the trainer gets them, after augmentation/,
      skipped: /No sample was skipped/,
      definition: /randomResizedCrop/,
      why: /What was seen/,
    }
    await page.getByRole('tab', { name: 'Why' }).focus()
    for (const [tab, words] of Object.entries(shown)) {
      await page.keyboard.press('ArrowRight')
      await expect.poll(() => page.url()).toContain(`#${tab}`)
      await page.getByRole('tabpanel').getByText(words).first().waitFor()
      expect(await page.locator('[role=tab][aria-selected=true]').getAttribute('id')).toBe(`tab-${tab}`)
    }
    await page.keyboard.press('9')
    await expect.poll(() => page.url()).toContain('#definition')
    await page.keyboard.press('3')
    await expect.poll(() => page.url()).toContain('#timeline')
    await page.reload()
    await page.locator('canvas.timeline').waitFor()
  })

  test('the timeline stops, zooms, and names spans, by keys', async () => {
    const page = await show(SCENES.underParallel(), {}, '#timeline')
    const canvas = page.locator('canvas.timeline')
    await page.getByRole('tabpanel').getByText('waits for a batch').waitFor()
    await canvas.focus()
    const words = page.locator('.span-words')
    await page.keyboard.press('.')
    await expect
      .poll(() => seen(words))
      .toMatch(/trainer (trains|waits for a batch|takes a batch), [\d.]+\s.?s/)
    await page.keyboard.press('ArrowDown')
    await expect.poll(() => seen(words)).toMatch(/^worker 0/)
    await page.keyboard.press('Space')
    await page.getByRole('button', { name: 'Go on' }).waitFor()
    const label = () => canvas.getAttribute('aria-label')
    const before = await label()
    await page.keyboard.press('+')
    await expect.poll(label).not.toBe(before)
    await page.getByRole('button', { name: 'Go on' }).click()
    await page.getByRole('button', { name: 'Stop' }).waitFor()
  })

  test('sliders tell what would be', async () => {
    const page = await show(SCENES.underParallel(), {}, '#what-if')
    const lost = async () => Number.parseFloat(await seen(page.locator('.answer .big')))
    await expect.poll(lost).toBeGreaterThan(20)
    await page.getByRole('slider', { name: 'workers', exact: true }).fill('12')
    await expect.poll(lost).toBeLessThan(5)
    expect(await seen(page.locator('.answer'))).toContain('your training step')
    expect(await seen(page.locator('.answer'))).toMatch(/^If there were 12 workers, then/)
    await page.getByRole('button', { name: 'As it is' }).click()
    await expect.poll(lost).toBeGreaterThan(20)
  })

  test("the tuner's marks are read by arrow keys", async () => {
    const page = await show(SCENES.tunerAtWork())
    await page.locator('.over-time .mark').first().waitFor()
    await page.locator('.over-time .chart').focus()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowRight')
    expect(await seen(page.locator('.over-time .tip'))).toMatch(/Kept workers 2 → 5[\s\S]*Checked four times/)
  })

  test('keys: a list of them, the theme, and a visible focus', async () => {
    const page = await show(SCENES.healthy(), { colorScheme: 'dark' })
    await page.locator('.verdict.good').waitFor()
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark')
    const ground = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
    const dark = await ground()
    await page.keyboard.press('t')
    expect(await ground()).not.toBe(dark)
    await page.keyboard.press('?')
    await page.getByRole('dialog').getByText('light, dark, or as the system says').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
    await page.keyboard.press('Tab')
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid')
  })

  test('hostile text is shown as text', async () => {
    const evil = "<script>document.title='evil'</script><img src=x onerror=alert(1)>"
    const scene = SCENES.underParallel()
    scene.hello.run!.feed = evil
    scene.hello.definition = { [evil]: evil }
    scene.hello.fields = [{ name: evil, dtype: evil, shape: [1], kind: evil }]
    scene.nows = scene.nows.map(now => ({ ...now, bad: [{ id: evil, message: evil, picture: 'api/bad/0' }] }))
    const page = await show(scene)
    await page.locator('.verdict.loss').waitFor()
    expect(await seen(page.locator('.run'))).toBe(evil)
    await page.getByRole('tab', { name: 'Skipped' }).click()
    expect(await seen(page.locator('.skipped b'))).toBe(evil)
    await page.getByRole('tab', { name: 'Definition' }).click()
    expect(await seen(page.locator('pre'))).toContain(evil)
    expect(await page.title()).toContain(evil)
    expect(await page.locator('script').count()).toBe(1)
  })

  test('narrow: nothing is cut off at 900 px', async () => {
    const page = await show(SCENES.underParallel(), { viewport: { width: 900, height: 800 } })
    await page.locator('.verdict.loss').waitFor()
    const wide = await page.evaluate('document.documentElement.scrollWidth')
    expect(wide).toBeLessThanOrEqual(900)
  })
})

test('the page is one small file', () => {
  const page = readFileSync(new URL('../../../../../dist/observe/page/index.html', import.meta.url), 'utf8')
  expect(page.match(/<script/g)).toHaveLength(1)
  expect(page.match(/<style/g)).toHaveLength(1)
  expect(page).not.toMatch(/\son\w+="|\sstyle="|https?:\/\/(?!www\.w3\.org)|@import|\beval\(/)
  expect(page.length).toBeLessThan(150_000)
})
