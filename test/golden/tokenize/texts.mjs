// Texts that are hard to tokenise, and how their tokens and words are digested. The same on every machine and with every Node.
import { createHash } from 'node:crypto'

/** Random numbers below n, from a seed. */
function randomly(seed) {
  let state = seed
  return n => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * n)
  }
}

function repeated(count, seed, make) {
  const random = randomly(seed)
  return Array.from({ length: count }, () => make(random)).join('')
}

export const NASTY = [
  '',
  ' ',
  'Hello world',
  "I'm you're THEY'LL 'S ſ 'ſ don't",
  'a  b   c\t\td\n\n\ne \n f\r\n\r\n',
  '12345678 1 22 333 4444 ٣٤٥ １２３４',
  '👨‍👩‍👧‍👦 👍🏽 🇩🇪',
  '你好，世界。日本語テキスト 한국어',
  'مرحبا بالعالم',
  'e\u0301 n\u0303 \u0301\u0301x',
  'a\0b\0',
  'ABCdefGHIjkl ǅx İstanbul',
  'def f(x):\n    return x // 2  # comment\n',
  '<|endoftext|> <|im_start|> a<|endoftext|>b<|end_of_text|> <|eot_id|>',
  'https://example.com/a/b?c=d&e=f//\n/',
  `${'x'.repeat(100)}${'ab'.repeat(60)}`,
  '\ufeffBOM \u00a0nbsp\u3000ideographic \u0085next',
  '\u2581under \u2581\u2581 marks\u2581',
  'Zero\u200dwidth\u200c\u200b joiners\u2060 and soft\u00adhyphens',
  '\u1100\u1161\u11a8 \uac01 hangul; \u0627\u0644\u0644\u0647 \ufdfa ligatures',
  '#include <stdio.h>\r\nint main(void)\r\n{\r\n\tputs("hi");\r\n\treturn 0;\r\n}\r\n',
  '<div class="a">\n  <p>Text &amp; more</p>\n</div>\n<!-- comment -->',
]

const letters = random => String.fromCharCode(97 + random(26))
/** Long texts, by name: most are one word. */
export const LONG = {
  'no space, 1 MB': () => repeated(1 << 20, 1, letters),
  'one letter': () => 'a'.repeat(200_000),
  blanks: () => `${' '.repeat(100_000)}x${'\n'.repeat(50_000)}`,
  digits: () => repeated(100_000, 2, random => String(random(10))),
  'Chinese characters': () => repeated(60_000, 3, random => String.fromCharCode(0x4e00 + random(20_000))),
  emoji: () => repeated(30_000, 4, random => String.fromCodePoint(0x1f300 + random(700))),
  'marks and joiners': () =>
    repeated(60_000, 5, random => ['e', '\u0301', '\u200d', 'क', '्', '👩', 'A', "'"][random(8)]),
  signs: () => repeated(100_000, 6, random => String.fromCharCode(33 + random(15))),
  'words of three letters': () =>
    repeated(100_000, 7, random => `${['the', 'and', 'ing', 'THE', 'Ion', 'ab'][random(6)]}${random(9) ? '' : ' '}`),
}

/** Characters of all kinds, common ones more often. */
export function randomText(seed) {
  const random = randomly(seed)
  const character = () => {
    switch (random(8)) {
      case 0:
        return " '\n\r\t.,/-_<|>"[random(14)] ?? ' '
      case 1:
        return String.fromCharCode(32 + random(95))
      case 2:
        return ["'s", "'LL", ' ', '  ', '\n\n', '\r\n', ' \n', '<|endoftext|>', '\u0301', '１', "'ſ"][random(11)]
      case 3:
        return String.fromCodePoint(random(0x3000))
      case 4: {
        const point = random(0x110000)
        return String.fromCodePoint(point >= 0xd800 && point < 0xe000 ? 0x4e00 + (point % 20_000) : point)
      }
      default:
        return String.fromCharCode((random(3) ? 97 : 65) + random(26))
    }
  }
  return Array.from({ length: 1 + random(60) }, character).join('')
}
export const RANDOM = 2000

/** Code points of a block. */
export const BLOCK = 4096
export const BLOCKS = 0x110000 / BLOCK

/** Each character of a block between letters, numbers, blanks, line breaks and apostrophes. */
export function between(block) {
  let text = ''
  for (let point = block * BLOCK; point < (block + 1) * BLOCK; point++) {
    if (point >= 0xd800 && point < 0xe000) continue
    const c = String.fromCodePoint(point)
    text += `a${c}b A${c}B1${c}2 ${c} \n${c}\n'${c}' ${c}${c}a${c}'s'r${c}e\t${c}\r!${c}`
  }
  return text
}

/** A digest of numbers. */
export function digest(numbers) {
  const bytes = Uint32Array.from(numbers)
  return createHash('sha256').update(new Uint8Array(bytes.buffer)).digest('hex').slice(0, 12)
}
