/** Reports: the page with data in its file, as text, and as a browser shows it. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { runInNewContext } from 'node:vm'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../test/support/folder.js'
import { LONGEST_WAIT } from '../../../test/support/until.js'
import type { ReportData, ReportRun } from '../dashboard/view.js'
import { columnsPath, topOfWaits } from '../page/draw/scale.js'
import { renderReport, writeReport } from '../report.js'
import { CHROMIUM, openBrowser } from './dashboard/page/browser.js'

const PAGE = new URL('../../../dist/observe/page/index.html', import.meta.url)

/** 40 steps: the first waits long. */
function run(name: string, waitMs: number): ReportRun {
  const steps: NonNullable<ReportRun['steps']> = []
  for (let i = 0, start = 0; i < 40; i++) {
    const wait = i === 0 ? 700 : waitMs
    steps.push({ start, wait, compute: 20 })
    start += wait + 20
  }
  const stepMs = waitMs + 20
  const running = waitMs / stepMs
  return {
    name,
    what: 'one thread',
    stepMs,
    lost: running,
    why: `because of ${name}`,
    parts: {
      ideal: 1 - running,
      slowed: 0,
      handOver: 0,
      transfer: 0,
      running: running / 2,
      queued: running / 2,
      blocked: 0,
      noSlot: 0,
    },
    steps,
    workers: [{ name: 'worker 0', spans: steps.map(({ start, wait }) => ['decode', start, wait]) }],
  }
}

const data: ReportData = {
  title: 'Fed <three> ways & more',
  machine: '2 cores',
  versions: { millrace: '0.1.0', node: '20' },
  date: '2026-01-01T10:11:12.000Z',
  headline: { tone: 'good', what: 'The GPU is busy:', why: 'it is fed.' },
  commands: [{ text: 'millrace run $& f.json', about: 'as it is' }],
  cards: [
    {
      title: 'naive </script><b>',
      what: 'one thread',
      value: '812',
      unit: 'samples/s',
      busy: 0.25,
      figures: [['idling costs per hour', '$2.25']],
    },
  ],
  runs: [run('naive </script><b>', 60), run('shards', 5)],
  table: { columns: ['', 'samples/s'], rows: [{ cells: ['naive', '812'], mark: 'default' }] },
  facts: [['rounds', '3']],
}

/** The JSON that the page's own script reads. */
function embedded(page: string): ReportData {
  const match = /<script type="application\/json" id="data">(.*?)<\/script>/s.exec(page)
  return JSON.parse(match![1])
}

describe('the report', () => {
  const page = renderReport(data, PAGE)

  it('holds the data, whatever characters are in it', () => {
    expect(embedded(page)).toEqual(data)
    expect(page).toContain('<title>Fed &lt;three> ways &amp; more</title>')
    expect(page).not.toContain('{{')
  })

  it('is the page of the dashboard', () => {
    const live = readFileSync(PAGE, 'utf8')
    const [before, after] = live.split('<div id="page">')
    expect(page.endsWith(after)).toBe(true)
    expect(page.startsWith(before.slice(0, before.indexOf('<title>')))).toBe(true)
  })

  it('needs nothing from outside', () => {
    const withoutData = page.replace(/id="data">.*?<\/script>/s, '></script>')
    expect(withoutData).not.toMatch(/https?:\/\/(?!www\.w3\.org)|@import|url\((?!#)|<img|\ssrc=/i)
    expect(withoutData.match(/<link[^>]*>/g)).toEqual(['<link rel="icon" href="data:,">'])
  })

  it('has a script that parses', () => {
    const script = page.slice(page.lastIndexOf('<script>') + 8, page.lastIndexOf('</script>'))
    expect(() => runInNewContext(`(() => { return; ${script}\n})()`)).not.toThrow()
  })

  it('says what is missing where there is no page', () => {
    expect(() => renderReport(data, new URL('./none.html', import.meta.url))).toThrow('npm run build')
  })

  it('is written whole', () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-report-'))
    writeReport(join(folder, 'report.html'), data)
    expect(readdirSync(folder)).toEqual(['report.html'])
    expect(embedded(readFileSync(join(folder, 'report.html'), 'utf8'))).toEqual(data)
    rmSync(folder, { recursive: true })
  })
})

describe('waits', () => {
  it('are scaled by what is usual: a long first batch leaves the others visible', () => {
    const others = Array.from({ length: 120 }, (_, i) => 2 + (i % 5) / 10)
    expect(topOfWaits([[700, ...others]])).toBe(5)
    expect(
      topOfWaits([
        [700, ...others],
        [90, ...others.map(wait => wait * 4)],
      ]),
    ).toBe(10)
    expect(topOfWaits([[700, ...others, 300]])).toBe(5) // one in a hundred is no rule
    expect(topOfWaits([[700]])).toBe(1000)
    expect(topOfWaits([[]])).toBe(0.001)
  })

  it('are columns; one that is cut off has a point on it', () => {
    const plot = { from: 0.5, to: 2.5, top: 5, width: 20, height: 50 }
    expect(
      columnsPath(
        [
          [1, 2.5],
          [2, 0],
        ],
        1,
        plot,
      ),
    ).toBe('M0.5 50V25.0h9.0V50Z')
    expect(columnsPath([[1, 700]], 1, plot)).toBe('M0.5 50V0.0h9.0V50ZM0.5 -2h9.0l-4.5 -5Z')
  })
})

describe.skipIf(CHROMIUM === undefined)('the report in a browser', () => {
  let browser: Browser
  let page: Page
  const asked: string[] = []
  const complaints: string[] = []
  // biome-ignore lint/performance/useDomNodeTextContent: what CSS hides is not shown
  const seen = (element: Locator): Promise<string> => element.innerText()
  const section = (title: string) =>
    page.locator('section', { has: page.getByRole('heading', { name: title }) })

  beforeAll(async () => {
    browser = await openBrowser()
    page = await browser.newPage({ viewport: { width: 1280, height: 720 } })
    page.setDefaultTimeout(LONGEST_WAIT)
    page.on('request', request => asked.push(request.url()))
    page.on('console', message => complaints.push(message.text()))
    page.on('pageerror', error => complaints.push(error.message))
    const file = join(temporaryFolder(), 'report.html')
    writeFileSync(file, renderReport(data, PAGE))
    await page.goto(pathToFileURL(file).href)
    await page.locator('.cards').waitFor()
  })
  afterAll(async () => {
    await browser?.close()
    expect(complaints).toEqual([])
    expect(asked).toHaveLength(1) // the file itself
  })

  it('says first what was found, on which machine, and what to do', async () => {
    expect(await seen(page.locator('h1'))).toMatch(/The GPU is busy:\s+it is fed\./)
    expect(await seen(page.locator('.head'))).toMatch(
      /Fed <three> ways & more\s+2 cores · 2026-01-01 10:11 UTC/,
    )
    expect(await seen(page.locator('.acts'))).toContain('millrace run $& f.json')
    expect(await seen(page.locator('.card'))).toMatch(/naive <\/script><b>[\s\S]*812[\s\S]*\$2\.25/)
  })

  it('shows where the time of a step went as a bar whose parts add up, and says why', async () => {
    const steps = section('Where the time of a step went')
    const [naive, shards] = await steps.locator('.bars > li').all()
    expect(await seen(naive)).toMatch(/80 ms, lost 75 %\s+because of naive/)
    expect(await naive.locator('.bar').getAttribute('aria-label')).toBe(
      'training 25 %, workers were making batches 38 %, workers waited for a core 38 %',
    )
    expect(await steps.locator('.legend li').count()).toBe(3)
    // A bar is as long as its steps took.
    const wide = async (of: Locator) => (await of.locator('.bar').boundingBox())!.width
    expect((await wide(shards)) / (await wide(naive))).toBeCloseTo(25 / 80, 2)
  })

  it('shows all timelines over one view of time, which keys move', async () => {
    const [naive, shards] = await section('Timeline').locator('canvas').all()
    const label = () => shards.getAttribute('aria-label')
    expect(await label()).toMatch(/^Timeline of shards, 3\.84\ss of it: 2 threads/)
    await naive.focus()
    await page.keyboard.press('1')
    await expect.poll(label).toMatch(/^Timeline of shards, 1\.44\ss/)
    await page.keyboard.press('+')
    await expect.poll(label).toMatch(/^Timeline of shards, 720\sms/)
    await page.keyboard.press('0')
    await expect.poll(label).toMatch(/^Timeline of shards, 3\.84\ss/)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('.')
    await page.keyboard.press('ArrowDown')
    await expect
      .poll(() => seen(section('Timeline').locator('.span-words').first()))
      .toMatch(/^worker 0 decodes, 60\.0\sms, from [\d.]+\ss on/)
  })

  it('shows waits, figures, and how it was measured', async () => {
    const waits = section('Wait before each step')
    expect(await seen(waits)).toMatch(/60 ms on average, the first batch 700 ms/)
    await waits.locator('.chart').first().focus()
    await page.keyboard.press('ArrowLeft')
    expect(await seen(waits.locator('.tip'))).toMatch(/step 40\s+waited 60 ms/)
    expect(await seen(page.locator('.numbers'))).toMatch(/naive default\s+812/)
    expect(await seen(section('How it was measured'))).toMatch(/rounds\s+3/)
  })
})
