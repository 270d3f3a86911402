/** One file to send to a colleague: the page's own HTML with what it shows inside. It opens without a server. */
import type { BadSample, Snapshot } from '../../view.js'
import { address, ask } from './address.js'
import { type State, toSnapshot } from './store.js'

/** Skipped samples whose pictures go into a file: enough to see what is wrong with them. */
const PICTURES = 24
const ID = 'saved'

/** A snapshot, and the tab that was open. */
export interface Saved extends Snapshot {
  tab: string
}

/** What this file holds. Null: it is no saved file. */
export function embedded(): Saved | null {
  const text = document.getElementById(ID)?.textContent
  return text ? (JSON.parse(text) as Saved) : null
}

/** Saves what is seen, and says how that went. The server adds what the page asks for only when it is looked at. */
export async function save(state: State, tab: string): Promise<string> {
  const shown = toSnapshot(
    state,
    state.saved ?? (state.link === 'live' ? Date.now() : (state.heard ?? Date.now())),
  )
  if (shown === null) return 'There is nothing to save yet.'
  let from = ''
  if (state.link !== 'saved')
    try {
      const { timeline, gallery } = await ask<Snapshot>('api/snapshot')
      Object.assign(shown, { timeline, gallery })
    } catch {
      from = ' The server does not answer: the file has what this page had.'
    }
  const now = shown.now && { ...shown.now, bad: await withPictures(shown.now.bad) }
  const name = fileName(shown)
  download(name, fileOf({ ...shown, now, tab }))
  return `Saved as ${name}.${from}`
}

/** The page with the snapshot in it. Its policy lets only the page's own script and style in. */
function fileOf(snapshot: Saved): string {
  const json = JSON.stringify(snapshot).replaceAll('<', '\\u003c')
  const script = document.querySelector('script:not([type])')?.textContent ?? ''
  const style = document.querySelector('style')?.textContent ?? ''
  const hashes = document.querySelector<HTMLMetaElement>('meta[name=hashes]')?.content ?? ''
  return [
    '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; ${hashes}">`,
    `<meta name="hashes" content="${hashes}">`,
    '<title>Millrace</title>',
    `${element('style', '', style)}\n</head>\n<body>\n<div id="page"></div>`,
    element('script', ` type="application/json" id="${ID}"`, json),
    `${element('script', '', script)}\n</body>\n</html>\n`,
  ].join('\n')
}

/** Tags are put together here, so that the page's own script has none in it. */
function element(name: string, attributes: string, text: string): string {
  return `<${name}${attributes}>${text}</${name}>`
}

/** `millrace-cats-2026-01-31-1405.html`. */
function fileName({ saved, hello }: Snapshot): string {
  const at = new Date(saved)
  const two = (n: number) => String(n).padStart(2, '0')
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
  const feed = (hello.run?.feed ?? 'run').replace(/[^\w.-]+/g, '-').replace(/^-|-$/g, '') || 'run'
  return `millrace-${feed.slice(0, 40)}-${day}-${two(at.getHours())}${two(at.getMinutes())}.html`
}

function download(name: string, text: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/html' }))
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}

/** A picture that the server does not give is left out: the sample's name and message stay. */
async function withPictures(bad: BadSample[]): Promise<BadSample[]> {
  return Promise.all(
    bad.map(async (sample, i) => {
      if (sample.picture === null || sample.picture.startsWith('data:')) return sample
      return { ...sample, picture: i < PICTURES ? await dataUrl(sample.picture) : null }
    }),
  )
}

async function dataUrl(path: string): Promise<string | null> {
  const answer = await fetch(address(path)).catch(() => null)
  if (!answer?.ok) return null
  const blob = await answer.blob()
  return new Promise(resolve => {
    const reader = new FileReader()
    reader.addEventListener('load', () => resolve(String(reader.result)))
    reader.addEventListener('error', () => resolve(null))
    reader.readAsDataURL(blob)
  })
}
