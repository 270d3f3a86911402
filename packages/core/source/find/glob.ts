/** Matches paths with globs: `*` and `?` within a name, `[a-z]`, `**` across folders. braces.ts expands braces before. */

export function isGlob(pattern: string): boolean {
  return /[*?[]/.test(pattern)
}

export interface Glob {
  /** The folder in which the search begins: the part without wildcards. */
  base: string
  /** Whether a path relative to `base` matches. */
  test(path: string): boolean
  /** How many folders below `base` a match may lie. */
  depth: number
}

/** Compiles an absolute pattern, or one with a scheme. Like shells, wildcards don't match a leading dot. */
export function compileGlob(pattern: string): Glob {
  const segments = pattern.split('/')
  const first = segments.findIndex(isGlob)
  const before = segments.slice(0, first).join('/') || '/'
  const base = before.endsWith(':/') ? `${before}/` : before // scheme://
  const rest = segments.slice(first)
  const last = rest.length - 1
  const source = rest.map((segment, i) =>
    segment === '**' ? anyFolders(i === last) : name(segment, i === last),
  )
  const regex = new RegExp(`^${source.join('')}$`, 'u')
  return {
    base,
    test: path => regex.test(path),
    depth: rest.includes('**') ? Number.POSITIVE_INFINITY : last,
  }
}

function anyFolders(last: boolean): string {
  return last ? '(?:[^/.][^/]*/)*[^/.][^/]*' : '(?:[^/.][^/]*/)*'
}

/** One name of a path. */
function name(segment: string, last: boolean): string {
  let out = /^[*?[]/.test(segment) ? '(?!\\.)' : ''
  for (let i = 0; i < segment.length; i++) {
    const c = segment[i]
    const close = c === '[' ? segment.indexOf(']', i + 2) : -1
    if (c === '*') out += '[^/]*'
    else if (c === '?') out += '[^/]'
    else if (close > 0) {
      const set = segment
        .slice(i + 1, close)
        .replace(/^!/, '^')
        .replace(/[\\[\]&]/g, '\\$&')
      out += `[${set}]`
      i = close
    } else out += c.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  }
  return out + (last ? '' : '/')
}
