/** Light or dark: as the system says, or as the reader chose for this page. */

import { PART_NAMES, PARTS } from '../../account/parts.js'

export type Theme = 'system' | 'light' | 'dark'

/** Told to what draws by itself: canvases take their colours when they draw. */
export const THEME_CHANGED = 'millrace-theme'

const dark = matchMedia('(prefers-color-scheme: dark)')
let chosen: Theme = 'system'

/** Follows the system. */
export function startTheme(): void {
  dark.addEventListener('change', show)
  // Paper is white.
  addEventListener('beforeprint', () => set('light'))
  addEventListener('afterprint', show)
  show()
}

/** System, light, dark, and round again. */
export function nextTheme(): Theme {
  const shown = dark.matches ? 'dark' : 'light'
  const other = shown === 'dark' ? 'light' : 'dark'
  // The first press always changes what is seen.
  chosen = chosen === 'system' ? other : chosen === other ? shown : 'system'
  show()
  return chosen
}

function show(): void {
  set(chosen === 'system' ? (dark.matches ? 'dark' : 'light') : chosen)
}

function set(theme: 'light' | 'dark'): void {
  const { dataset, style } = document.documentElement
  dataset.theme = theme
  // A server's page may hold no other style sheet: variables are set one by one.
  for (const part of PART_NAMES) style.setProperty(`--${part}`, PARTS[part].colour[theme === 'light' ? 0 : 1])
  dispatchEvent(new Event(THEME_CHANGED))
}
