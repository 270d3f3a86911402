/** The page: one file with its script and style in it. Browsers run that script and no other: its hash stands in the headers. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export interface Page {
  html: string
  /** Value of the Content-Security-Policy header. */
  policy: string
}

/** Where the build puts it. */
const PAGE_FILE = fileURLToPath(new URL('../../page/index.html', import.meta.url))

const MISSING = message(
  'The page is missing',
  'This Millrace was built without the page of its dashboard: <code>npm run build</code> makes it. What it would show can be read ' +
    'at <a href="/api/snapshot">/api/snapshot</a>.',
)

export function loadPage(file = PAGE_FILE): Page {
  return pageOf(existsSync(file) ? readFileSync(file, 'utf8') : MISSING)
}

/** A page that says one thing. */
export function message(title: string, html: string, head = ''): string {
  return (
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title} · millrace</title>${head}` +
    '<style>body{font:16px/1.5 system-ui,sans-serif;margin:4rem auto;max-width:40rem;padding:0 1rem}' +
    '@media(prefers-color-scheme:dark){body{background:#111;color:#eee}a{color:#8bf}}</style></head>' +
    `<body><h1>${title}</h1><p>${html}</p></body></html>`
  )
}

/** Nothing is loaded from elsewhere, nothing is sent elsewhere, and no other page may hold this one in a frame. */
export function pageOf(html: string): Page {
  const scripts = hashesOf(html, 'script')
  const styles = hashesOf(html, 'style')
  const policy = [
    "default-src 'none'",
    `script-src ${scripts || "'none'"}`,
    `style-src ${styles || "'none'"}`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
  return { html, policy }
}

function hashesOf(html: string, tag: 'script' | 'style'): string {
  const found = html.matchAll(new RegExp(`<${tag}\\b[^>]*>([\\s\\S]*?)</${tag}>`, 'g'))
  const hashes = [...found].map(
    ([, text]) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`,
  )
  return [...new Set(hashes)].join(' ')
}
