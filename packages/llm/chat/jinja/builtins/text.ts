/** Python's methods of str that work on characters, each of which JavaScript has otherwise. */

/** What Python takes for white space. */
export const SPACE =
  '\\t-\\r\\u001c-\\u0020\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000'
const BLANK = new RegExp(`[${SPACE}]`)
const LEADING = new RegExp(`^[${SPACE}]+`)
const WORDS = new RegExp(`[^${SPACE}]+`, 'g')
// biome-ignore lint/suspicious/noControlCharactersInRegex: Python ends lines at these, too
const LINES = /\r\n|[\n\r\v\f\u001c-\u001e\u0085\u2028\u2029]/
const CASED = /\p{Cased}/u

export function stripLeft(text: string, chars?: string): string {
  if (chars === undefined) return text.replace(LEADING, '')
  const set = new Set(chars)
  let at = 0
  for (const point of text) {
    if (!set.has(point)) break
    at += point.length
  }
  return text.slice(at)
}

export function stripRight(text: string, chars?: string): string {
  let end = text.length
  if (chars === undefined) {
    while (end > 0 && BLANK.test(text[end - 1])) end--
    return text.slice(0, end)
  }
  const set = new Set(chars)
  while (end > 0) {
    const point = text.slice(isPair(text, end - 2) ? end - 2 : end - 1, end)
    if (!set.has(point)) break
    end -= point.length
  }
  return text.slice(0, end)
}

/** Whether a character of two units begins there. */
const isPair = (text: string, at: number): boolean => at >= 0 && (text.codePointAt(at) ?? 0) > 0xffff

export const strip = (text: string, chars?: string): string => stripRight(stripLeft(text, chars), chars)

/** Characters whose title case is neither their upper case nor the first letter of it in upper case. */
const TITLES: Readonly<Record<string, string>> = {
  Ǆ: 'ǅ',
  ǅ: 'ǅ',
  ǆ: 'ǅ',
  Ǉ: 'ǈ',
  ǈ: 'ǈ',
  ǉ: 'ǈ',
  Ǌ: 'ǋ',
  ǋ: 'ǋ',
  ǌ: 'ǋ',
  Ǳ: 'ǲ',
  ǲ: 'ǲ',
  ǳ: 'ǲ',
}

function titled(point: string): string {
  if (point >= '\u10d0' && point <= '\u10ff') return point
  const [first, ...more] = point.toUpperCase()
  return TITLES[point] ?? first + more.join('').toLowerCase()
}

export function capitalize(text: string): string {
  const [first = ''] = text
  return (first === '' ? '' : titled(first)) + text.slice(first.length).toLowerCase()
}

/** `str.title`: a letter after what is no letter is large, the others are small. */
export function title(text: string): string {
  let [out, inside] = ['', false]
  for (const point of text) {
    out += inside ? point.toLowerCase() : CASED.test(point) ? titled(point) : point
    inside = CASED.test(point)
  }
  return out
}

/** The filter `title`: words begin behind blanks, hyphens and opening brackets alone. */
export function titleWords(text: string): string {
  return text
    .split(new RegExp(`([-(\\{\\[<${SPACE}]+)`))
    .map(word => {
      const [first = ''] = word
      return first.toUpperCase() + word.slice(first.length).toLowerCase()
    })
    .join('')
}

/** Whether a text has letters with cases, and all are of this one. */
export function isCase(text: string, changed: string): boolean {
  return text === changed && CASED.test(text)
}

export function linesOf(text: string): string[] {
  const parts = text.split(LINES)
  return parts.at(-1) === '' ? parts.slice(0, -1) : parts
}

/** At most `limit` cuts, from the left or the right; a limit below 0 is none. */
export function split(
  text: string,
  separator: string | undefined,
  limit: number,
  fromRight: boolean,
): string[] {
  if (separator === '') throw new Error('split() has an empty separator')
  if (separator === undefined) return splitAtSpace(text, limit, fromRight)
  const parts = text.split(separator)
  if (limit < 0 || parts.length <= limit + 1) return parts
  return fromRight
    ? [parts.slice(0, parts.length - limit).join(separator), ...parts.slice(parts.length - limit)]
    : [...parts.slice(0, limit), parts.slice(limit).join(separator)]
}

function splitAtSpace(text: string, limit: number, fromRight: boolean): string[] {
  const words = Array.from(text.matchAll(WORDS))
  if (limit < 0 || words.length <= limit) return words.map(([word]) => word)
  if (fromRight) {
    const tail = words.slice(words.length - limit)
    return [stripRight(text.slice(0, tail[0]?.index)), ...tail.map(([word]) => word)]
  }
  return [...words.slice(0, limit).map(([word]) => word), text.slice(words[limit].index)]
}

export function partition(text: string, separator: string, at: number, absent: string[]): string[] {
  if (separator === '') throw new Error('partition() has an empty separator')
  return at < 0 ? absent : [text.slice(0, at), separator, text.slice(at + separator.length)]
}

/** How often a text stands in another, without overlaps. */
export function occurrences(text: string, part: string): number {
  if (part === '') return Array.from(text).length + 1
  let count = 0
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) count++
  return count
}

/** The first `count` of them replaced. An empty text stands between all characters and at both ends. */
export function replaced(text: string, before: string, after: string, count: number): string {
  if (before === '') {
    const points = Array.from(text)
    const begin = points.slice(0, count - 1).map(point => after + point)
    return count === 0 ? text : begin.join('') + after + points.slice(count - 1).join('')
  }
  const parts: string[] = []
  let done = 0
  for (let i = 0; i < count; i++) {
    const at = text.indexOf(before, done)
    if (at < 0) break
    parts.push(text.slice(done, at))
    done = at + before.length
  }
  return [...parts, text.slice(done)].join(after)
}
