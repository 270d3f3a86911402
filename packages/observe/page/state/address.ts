/** Addresses of the server: relative to the page's own, with its query (which has the token) and the run that was chosen. */
import type { RunName } from '../../dashboard/view.js'

export function address(path: string, more: Record<string, string> = {}): string {
  const query = new URLSearchParams(location.search)
  for (const [name, value] of Object.entries(more)) query.set(name, value)
  const text = query.toString()
  return text === '' ? path : `${path}?${text}`
}

/** How a run is asked for. */
export function nameOf({ trainer, ring }: RunName): string {
  return `${trainer}.${ring}`
}

/** Shows another run: the page is loaded again with it in the address, where it can be kept. */
export function choose(run: string): void {
  const query = new URLSearchParams(location.search)
  query.set('run', run)
  location.search = query.toString()
}

/** What the server answers, or an error that says what it said. */
export async function ask<T>(path: string, more: Record<string, string> = {}): Promise<T> {
  const answer = await fetch(address(path, more))
  if (!answer.ok) throw new Error(await reasonOf(answer))
  return (await answer.json()) as T
}

async function reasonOf(answer: Response): Promise<string> {
  const text = await answer.text()
  try {
    const { error } = JSON.parse(text) as { error?: unknown }
    if (typeof error === 'string') return error
  } catch {
    // No JSON: the status says enough.
  }
  return `the server answered ${answer.status}`
}
