/**
 * Takes pictures of the page in all states, to be looked at, and those of the guide:
 * MILLRACE_PICTURES=FOLDER npx vitest run packages/observe/test/dashboard/page/pictures.test.ts
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { CHROMIUM, openBrowser } from './browser.js'
import { START } from './looks.js'
import { SCENES, type SceneName } from './scenes.js'
import { play } from './server.js'

const folder = process.env.MILLRACE_PICTURES
const only = process.env.MILLRACE_SCENES?.split(',')
const SIZE = { width: 1280, height: 720 }
/** All that is looked at on a usual laptop as well. */
const LAPTOP = { width: 1366, height: 768 }

/** Tabs with drawings, which take their colours from the theme. */
const DARK = ['timeline', 'what-if', 'tuner']

/** Scenes, and tabs to look at in one of them. */
const STATES: [name: string, scene: SceneName, tab?: string][] = [
  ...(Object.keys(SCENES) as SceneName[]).map((name): [string, SceneName] => [name, name]),
  ['lost', 'underParallel'],
  ...['why', 'what-if', 'timeline', 'workers', 'tuner', 'gpu', 'samples', 'skipped', 'definition'].map(
    (tab): [string, SceneName, string] => [
      `tab-${tab}`,
      tab === 'tuner' ? 'tunerAtWork' : 'underParallel',
      tab,
    ],
  ),
]

test.skipIf(folder === undefined || CHROMIUM === undefined)(
  'pictures of all states, in light and dark',
  async () => {
    mkdirSync(folder!, { recursive: true })
    const browser = await openBrowser()
    for (const [name, scene, tab] of STATES) {
      if (only !== undefined && !only.includes(name)) continue
      const played = await play(SCENES[scene]())
      for (const look of ['light', 'dark', 'laptop'] as const) {
        if (tab !== undefined && (look === 'laptop' || (look === 'dark' && !DARK.includes(tab)))) continue
        const page = await browser.newPage({
          viewport: look === 'laptop' ? LAPTOP : SIZE,
          colorScheme: look === 'dark' ? 'dark' : 'light',
          deviceScaleFactor: 1,
          reducedMotion: 'reduce',
          timezoneId: 'UTC',
        })
        await page.clock.install({ time: START })
        await page.goto(`${played.url}#${tab ?? 'why'}`)
        await page.locator('.verdict').waitFor()
        for (let i = 0; i < 3; i++) {
          if (scene !== 'choose') played.second()
          await page.clock.runFor(1000)
        }
        // What is asked for is what this tab is about.
        if (tab === 'what-if') await page.getByRole('slider', { name: 'workers', exact: true }).fill('7')
        if (name === 'lost') {
          played.breakOff()
          await page.locator('.notice.lost').waitFor()
          await page.clock.runFor(12_000)
        }
        await page.waitForTimeout(300)
        const png = await page.screenshot({ fullPage: tab !== undefined })
        await sharp(png)
          .png({ palette: true, colours: 128 })
          .toFile(join(folder!, `${name}-${look}.png`))
        await page.close()
        played.mend()
      }
      await played.close()
    }
    await browser.close()
    expect(browser.isConnected()).toBe(false)
  },
)
