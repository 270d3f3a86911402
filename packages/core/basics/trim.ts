/** Texts without the white space around them. */

/** As `trim` of JavaScript, which also takes off U+FEFF: that is a character of the text, as it is in Python. */
export function trimBlanks(text: string): string {
  const trimmed = text.trim()
  if (trimmed.length === text.length || !text.includes('\ufeff')) return trimmed
  let [from, to] = [0, text.length]
  while (from < to && isBlank(text[from])) from++
  while (to > from && isBlank(text[to - 1])) to--
  return text.slice(from, to)
}

function isBlank(char: string): boolean {
  return char !== '\ufeff' && char.trim() === ''
}
