/** The patterns by which tokenizers cut a text into words, as far as there is a scanner for them. They are known by their text. */

/**
 * The numbers are those of the kernel. SentencePiece's words begin with blanks: all that stand there (`spaces`), or one (`space`). `none`: the
 * text is one word.
 */
export const PATTERNS = {
  gpt2: 0,
  cl100k: 1,
  qwen2: 2,
  o200k: 3,
  tekken: 4,
  spaces: 5,
  space: 6,
  none: 7,
} as const

export type PatternName = keyof typeof PATTERNS

const ENDINGS = "'s|'t|'re|'ve|'m|'ll|'d"
const FRONTS = String.raw`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`
const BACKS = String.raw`[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
const LEAD = String.raw`[^\r\n\p{L}\p{N}]?`

const cl100k = (digits: string): string =>
  String.raw`(?i:${ENDINGS})|${LEAD}\p{L}+|${digits}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
const o200k = (digits: string, endings: string): string =>
  [
    `${LEAD}${FRONTS}*${BACKS}+${endings}`,
    `${LEAD}${FRONTS}+${BACKS}*${endings}`,
    String.raw`${digits}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
  ].join('|')

/** Those that are patterns of text. */
export type TextPattern = Exclude<PatternName, 'spaces' | 'space' | 'none'>

/** The usual spelling of each. */
export const PATTERN_TEXTS: Readonly<Record<TextPattern, string>> = {
  gpt2: String.raw`${ENDINGS}| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`,
  cl100k: cl100k(String.raw`\p{N}{1,3}`),
  qwen2: cl100k(String.raw`\p{N}`),
  o200k: o200k(String.raw`\p{N}{1,3}`, `(?i:${ENDINGS})?`),
  tekken: o200k(String.raw`\p{N}`, ''),
}

/** Other spellings of the same: OpenAI's, with possessive quantifiers. */
const OTHERS: readonly (readonly [TextPattern, string])[] = [
  ['gpt2', String.raw`'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`],
  ['gpt2', String.raw`'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s`],
  [
    'cl100k',
    String.raw`'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s`,
  ],
  [
    'cl100k',
    String.raw`'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+`,
  ],
]

/** The pattern that a text is; undefined where there is no scanner for it. */
export function patternOf(text: string): TextPattern | undefined {
  const named = Object.entries(PATTERN_TEXTS) as [TextPattern, string][]
  return [...named, ...OTHERS].find(([, known]) => known === text)?.[0]
}
