/** Which format a file has, by its name, or by its first bytes. */
import { allFormats } from '../../define/format.js'

/** The format that a name says; undefined: none that is known. */
export function formatOf(path: string): string | undefined {
  return allFormats().find(({ finds }) => finds?.names?.test(path))?.name
}

/** The end of a name that says its format. */
export function formatEnd(path: string): string {
  const ends = allFormats().map(({ finds }) => finds?.names?.exec(path)?.[0])
  return ends.find(end => end !== undefined) ?? ''
}

/** The format of which a file is that begins so; undefined: none that is known by its start. */
export function formatByStart(start: Buffer): string | undefined {
  return allFormats().find(({ finds }) => finds?.start?.(start))?.name
}
