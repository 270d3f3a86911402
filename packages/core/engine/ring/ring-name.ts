/** What a ring is called in the spans: as its opener says, or by the source of its feed. */
import { basename } from 'node:path'
import { formatCalled } from '../../define/format.js'
import type { NormalFeed } from '../../define/types.js'

/** `tar train-{0000..0015}.tar`: the kind of the source, and the last part of its first path, if it is of files. */
export function ringName({ source }: NormalFeed, given?: string): string {
  if (given !== undefined) return given
  const [[kind, about]] = Object.entries(source)
  const format = formatCalled(kind)
  const path = format === undefined || format.facts?.untitled ? undefined : firstText(about)
  return path === undefined ? kind : `${kind} ${basename(path)}`
}

function firstText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null) return undefined
  for (const part of Object.values(value)) {
    const found = firstText(part)
    if (found !== undefined) return found
  }
  return undefined
}
