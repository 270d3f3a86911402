/** Debian's chromium, where there is one. Tests that need it say that they are skipped where there is none. */
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

export const CHROMIUM = PLACES.find(place => existsSync(place))

if (CHROMIUM === undefined)
  console.warn(
    'The dashboard is not tried in a browser: no chromium is installed (apt-get install chromium).',
  )

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM!, args: ['--no-sandbox', '--disable-gpu'] })
}
