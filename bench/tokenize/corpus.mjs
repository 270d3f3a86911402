// Texts of this machine for a comparison of tokenizers, each document once: `mixed` (more than half prose: manual pages, documents and docstrings; the rest is
// code in Python) and `multilingual` (messages and manual pages in languages that are not written in Latin letters). node bench/tokenize/corpus.mjs FOLDER
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'

const [folder, python = '/usr/lib/python3'] = process.argv.slice(2)
if (folder === undefined)
  throw new Error('node bench/tokenize/corpus.mjs FOLDER [A FOLDER WITH PYTHON PACKAGES]')
const BYTES = 34e6
/** A document is at most so long. */
const MOST = 60_000
const LANGUAGES =
  'ru uk bg sr el he ar fa hi bn ta te mr ml gu pa th ka hy ja ko zh_CN zh_TW am my km ne si kn'.split(' ')

function* files(root, wanted) {
  let names
  try {
    names = readdirSync(root, { withFileTypes: true })
  } catch {
    return
  }
  for (const entry of names.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(root, entry.name)
    if (entry.isDirectory()) yield* files(path, wanted)
    else if (entry.isFile() && wanted.test(path) && statSync(path).size < 4e6) yield path
  }
}

const read = path => (path.endsWith('.gz') ? gunzipSync(readFileSync(path)) : readFileSync(path)).toString()
/** A manual page without the marks of its typesetting. */
const page = text =>
  text
    .replace(/^[.'].*$/gm, '')
    .replace(/\\f[A-Z]|\\f\(..|\\[&|^%/,]|\\s[-+]?\d/g, '')
    .replace(/\\-/g, '-')
    .replace(/\n{3,}/g, '\n\n')

class Corpus {
  documents = []
  bytes = 0
  seen = new Set()
  add(text, most) {
    for (let at = 0; at < text.length && this.bytes < most; at += MOST) {
      const part = text.slice(at, at + MOST)
      if (part.length < 200 || part.includes('\ufffd')) continue
      const key = createHash('md5').update(part).digest('latin1')
      if (this.seen.has(key)) continue
      this.seen.add(key)
      this.documents.push(part)
      this.bytes += Buffer.byteLength(part)
    }
  }
  write(name) {
    // In a random order, which is always the same.
    const order = this.documents.map((text, i) => [
      createHash('md5').update(String(i)).digest('latin1'),
      text,
    ])
    order.sort(([a], [b]) => (a < b ? -1 : 1))
    writeFileSync(
      join(folder, `${name}.jsonl`),
      order.map(([, text]) => `${JSON.stringify(text)}\n`).join(''),
    )
    console.log(`${name}: ${(this.bytes / 1e6).toFixed(1)} MB, ${this.documents.length} documents`)
  }
}

mkdirSync(folder, { recursive: true })
const mixed = new Corpus()
for (const path of files('/usr/share/man', /\/man\/man\d\/.*\.gz$/)) mixed.add(page(read(path)), BYTES * 0.3)
for (const path of files('/usr/share/doc', /(README|NEWS|\.txt|\.md|\.rst|TODO|FAQ)[^/]*$/))
  if (!/\.(png|svg|html?)/.test(path)) mixed.add(read(path), BYTES * 0.4)
const code = [...files(python, /\.py$/)]
const docs = []
for (const path of code) {
  for (const [, text] of read(path).matchAll(/"""([^"]{400,}?)"""/g)) docs.push(text)
  if (docs.length > 80_000) break
}
for (const text of docs) mixed.add(text, BYTES * 0.6)
console.log(`prose: ${(mixed.bytes / 1e6).toFixed(1)} MB`)
for (const [i, path] of code.entries())
  if (i % 3 === 0) mixed.add(read(path).replace(/"""[^"]{400,}?"""/g, ''), BYTES)
mixed.write('mixed')

/** The translations in a file of gettext's. */
function* messages(bytes) {
  if (bytes.length < 28 || bytes.readUInt32LE(0) !== 0x950412de) return
  const [count, table] = [bytes.readUInt32LE(8), bytes.readUInt32LE(16)]
  for (let i = 1; i < count; i++) {
    const [length, at] = [bytes.readUInt32LE(table + 8 * i), bytes.readUInt32LE(table + 8 * i + 4)]
    yield bytes.toString('utf8', at, at + length).replaceAll('\0', '\n')
  }
}
const multilingual = new Corpus()
const each = BYTES / LANGUAGES.length
for (const language of LANGUAGES) {
  const until = multilingual.bytes + 2.5 * each
  for (const path of files(`/usr/share/man/${language}`, /\.gz$/))
    multilingual.add(page(read(path)), Math.min(BYTES, until))
  for (const path of files(`/usr/share/locale/${language}/LC_MESSAGES`, /\.mo$/)) {
    const texts = [...new Set(messages(readFileSync(path)))]
    multilingual.add(texts.join('\n'), Math.min(BYTES, until))
  }
}
multilingual.write('multilingual')
