/** Expands brace patterns, as shells and WebDataset do: `{0000..0015}` (zeros kept, steps allowed), `{a,b}`, nested. */

/** More names than this are a typing mistake rather than a dataset. */
const MOST = 1_000_000

/** All names that a pattern stands for, in its order. A brace that is neither a list nor a range stays as it is. */
export function expandBraces(pattern: string): string[] {
  const open = pattern.indexOf('{')
  if (open < 0) return [pattern]
  const close = closing(pattern, open)
  if (close < 0) return [pattern]
  const before = pattern.slice(0, open)
  const middle = alternatives(pattern.slice(open + 1, close))
  const after = expandBraces(pattern.slice(close + 1))
  if (middle.length * after.length > MOST) {
    throw new RangeError(`"${pattern}" stands for more than ${MOST} names`)
  }
  return middle.flatMap(m => after.map(a => before + m + a))
}

/** Where the brace at `open` closes, or -1. */
function closing(pattern: string, open: number): number {
  let depth = 0
  for (let i = open; i < pattern.length; i++) {
    if (pattern[i] === '{') depth++
    else if (pattern[i] === '}' && --depth === 0) return i
  }
  return -1
}

function alternatives(inside: string): string[] {
  const range = /^(-?\d+)\.\.(-?\d+)(?:\.\.(\d+))?$/.exec(inside)
  if (range !== null) return count(range[1], range[2], Number(range[3] ?? 1))
  const parts = splitTop(inside)
  return parts.length > 1 ? parts.flatMap(expandBraces) : expandBraces(inside).map(text => `{${text}}`)
}

/** From one number to another, with as many digits as the longer of the two when either begins with a zero. */
function count(from: string, to: string, step: number): string[] {
  const padded = /^-?0\d/.test(from) || /^-?0\d/.test(to)
  const digits = padded ? Math.max(from.replace('-', '').length, to.replace('-', '').length) : 0
  const [first, last] = [Number(from), Number(to)]
  const steps = Math.floor(Math.abs(last - first) / Math.max(1, step))
  if (steps >= MOST) throw new RangeError(`"{${from}..${to}}" stands for more than ${MOST} names`)
  const sign = last < first ? -1 : 1
  return Array.from({ length: steps + 1 }, (_, i) => {
    const value = first + sign * i * Math.max(1, step)
    return (value < 0 ? '-' : '') + String(Math.abs(value)).padStart(digits, '0')
  })
}

/** Splits at commas that stand in no inner brace. */
function splitTop(text: string): string[] {
  const parts: string[] = []
  let depth = 0
  let from = 0
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '{') depth++
    else if (text[i] === '}') depth--
    else if (text[i] === ',' && depth === 0) {
      parts.push(text.slice(from, i))
      from = i + 1
    }
  }
  parts.push(text.slice(from))
  return parts
}
