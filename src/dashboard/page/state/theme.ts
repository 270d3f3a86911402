/** Light or dark: as the system says, or as the reader chose. */

export type Theme = 'system' | 'light' | 'dark'

const KEY = 'millrace-theme'
/** Told to what draws by itself: canvases take their colours when they draw. */
export const THEME_CHANGED = 'millrace-theme'

const dark = matchMedia('(prefers-color-scheme: dark)')
let chosen: Theme = 'system'

/** Takes up what was chosen last time, and follows the system. */
export function startTheme(): void {
  try {
    const kept = localStorage.getItem(KEY)
    if (kept === 'light' || kept === 'dark') chosen = kept
  } catch {
    // A file that may keep nothing: the system decides.
  }
  dark.addEventListener('change', show)
  show()
}

export function theme(): Theme {
  return chosen
}

/** System, light, dark, and round again. */
export function nextTheme(): Theme {
  const shown = dark.matches ? 'dark' : 'light'
  const other = shown === 'dark' ? 'light' : 'dark'
  // The first press always changes what is seen.
  chosen = chosen === 'system' ? other : chosen === other ? shown : 'system'
  try {
    localStorage.setItem(KEY, chosen)
  } catch {
    // It holds until the page is closed.
  }
  show()
  return chosen
}

function show(): void {
  const now = chosen === 'system' ? (dark.matches ? 'dark' : 'light') : chosen
  document.documentElement.dataset.theme = now
  dispatchEvent(new Event(THEME_CHANGED))
}
