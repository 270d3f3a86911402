/**
 * The form NFC as the package `tokenizers` makes it. Its tables are those of Unicode 9, and Node's are newer, from version to version: a mark that came
 * later would be put in order and composed by Node, and is a character like any other there.
 */
import { isAscii } from 'node:buffer'

/** Characters below U+0300 are in the form NFC: their bytes are below this. */
const MAY_COMPOSE = 0xcc

/** What came after Unicode 9 and has a combining class, or is composed or taken apart. Each stands by itself. */
const LATER = new RegExp(
  `([${[
    String.raw`\u07fd\u0897-\u089f\u08ca-\u08d3\u09fe\u0c3c\u0d3b-\u0d3c\u0eba\u1715\u1abf-\u1add\u1ae0-\u1aeb`,
    String.raw`\u1df6-\u1dfa\ua82c\u{105c9}\u{105d2}\u{105da}\u{105e4}\u{10d24}-\u{10d27}\u{10d69}-\u{10d6d}`,
    String.raw`\u{10eab}-\u{10eac}\u{10efa}-\u{10efb}\u{10efd}-\u{10eff}\u{10f46}-\u{10f50}\u{10f82}-\u{10f85}`,
    String.raw`\u{11070}\u{1133b}\u{11382}-\u{11385}\u{1138b}\u{1138e}\u{11391}\u{113b8}\u{113bb}\u{113c2}`,
    String.raw`\u{113c5}\u{113c7}-\u{113c9}\u{113ce}-\u{113d0}\u{1145e}\u{11839}-\u{1183a}\u{11930}\u{11935}`,
    String.raw`\u{11938}\u{1193d}-\u{1193e}\u{11943}\u{119e0}\u{11a34}\u{11a47}\u{11a99}\u{11d42}`,
    String.raw`\u{11d44}-\u{11d45}\u{11d97}\u{11f41}-\u{11f42}\u{1611e}-\u{1611f}\u{16121}-\u{16129}\u{1612f}`,
    String.raw`\u{16d63}\u{16d67}-\u{16d6a}\u{16ff0}-\u{16ff1}\u{1e08f}\u{1e130}-\u{1e136}\u{1e2ae}`,
    String.raw`\u{1e2ec}-\u{1e2ef}\u{1e4ec}-\u{1e4ef}\u{1e5ee}-\u{1e5ef}\u{1e6e3}\u{1e6e6}\u{1e6ee}-\u{1e6ef}`,
    String.raw`\u{1e6f5}`,
  ].join('')}])`,
  'u',
)

export function composed(text: Uint8Array): Uint8Array {
  if (isAscii(text) || !mayCompose(text)) return text
  const given = Buffer.from(text.buffer, text.byteOffset, text.length).toString()
  const normal = composedText(given)
  return normal === given ? text : Buffer.from(normal)
}

export function composedText(text: string): string {
  if (!LATER.test(text)) return text.normalize('NFC')
  const parts = text.split(LATER)
  return parts.map((part, i) => (i % 2 === 1 ? part : part.normalize('NFC'))).join('')
}

function mayCompose(text: Uint8Array): boolean {
  for (let i = 0; i < text.length; i++) if (text[i] >= MAY_COMPOSE) return true
  return false
}
