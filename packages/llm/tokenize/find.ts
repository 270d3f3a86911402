/** Finds the file that a definition or a command means by a tokenizer: a file, a folder that has one, or the vocabulary that ships with Millrace. */
import { closeSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nearest, SourceError } from '../../core/basics/errors.js'
import { openRegular } from '../../core/system/files/regular.js'

/** Vocabularies that ship with Millrace, by name. */
const SHIPPED: Readonly<Record<string, string>> = { 'millrace-4k': 'shipped/millrace-4k.json' }

export interface TokenizerFile {
  path: string
  /** For messages: of a folder its name, otherwise that of the file. */
  name: string
  bytes: Buffer
  config?: TokenizerConfig
}

/** As far as it matters to tokens. */
export interface TokenizerConfig {
  eos_token?: unknown
  add_prefix_space?: unknown
}

export function findTokenizer(path: string, root: string): TokenizerFile {
  const full = resolve(root, path)
  const kind = statSync(full, { throwIfNoEntry: false })
  if (kind === undefined) {
    if (Object.hasOwn(SHIPPED, path)) {
      const file = fileURLToPath(new URL(`./${SHIPPED[path]}`, import.meta.url))
      return { path: file, name: path, bytes: readFileSync(file) }
    }
    throw new SourceError(`there is no tokenizer ${full}${hint(path, full)}`, { file: full })
  }
  const file = kind.isDirectory() ? inFolder(full) : full
  const config = configBeside(file)
  return {
    path: file,
    name: nameOf(file),
    bytes: readModelFile(file, 'tokenizer'),
    ...(config && { config }),
  }
}

/** One that is no JSON tells nothing: chats, which need it, refuse it. */
function configBeside(file: string): TokenizerConfig | undefined {
  const path = join(dirname(file), 'tokenizer_config.json')
  if (!existsSync(path)) return undefined
  const text = readModelFile(path, 'tokenizer_config.json').toString()
  try {
    return (JSON.parse(text) as TokenizerConfig | null) ?? undefined
  } catch {
    return undefined
  }
}

/** Bytes that a file of a model may have: the largest tokenizer.json known has 35 MB, the largest template 35 kB. */
const MOST_BYTES = { tokenizer: 128 << 20, 'chat template': 1 << 20, 'tokenizer_config.json': 16 << 20 }

/** Reads a file of a model's repository. One that is no regular file (a FIFO would never end), or too large, is refused. */
export function readModelFile(file: string, what: keyof typeof MOST_BYTES): Buffer {
  try {
    const { fd, stats } = openRegular(file)
    try {
      if (stats.size <= MOST_BYTES[what]) return readFileSync(fd)
      throw new Error(`it has ${stats.size} bytes, and more than ${MOST_BYTES[what]} are not read`)
    } finally {
      closeSync(fd)
    }
  } catch (cause) {
    throw new SourceError(`can't read the ${what} ${file}: ${(cause as Error).message}`, { file, cause })
  }
}

function inFolder(folder: string): string {
  const names = readdirSync(folder)
  if (names.includes('tokenizer.json')) return join(folder, 'tokenizer.json')
  const ranks = names.filter(name => name.endsWith('.tiktoken'))
  if (ranks.length === 1) return join(folder, ranks[0])
  const convertible = names.some(
    name => name === 'tokenizer.model' || name === 'vocab.json' || name === 'vocab.txt',
  )
  throw new SourceError(
    ranks.length > 1
      ? `the folder ${folder} has ${ranks.length} .tiktoken files: name one of them`
      : convertible
        ? `the folder ${folder} has no tokenizer.json: ${conversion(folder)}`
        : `the folder ${folder} has no tokenizer.json: name a folder or file that is a tokenizer`,
    { file: folder },
  )
}

/** How a tokenizer of another kind becomes a tokenizer.json. */
export function conversion(folder: string): string {
  const quoted = folder.replaceAll("'", "\\'")
  return `make one with Python: from transformers import AutoTokenizer; AutoTokenizer.from_pretrained('${quoted}').save_pretrained('${quoted}')`
}

function hint(path: string, full: string): string {
  const close = nearest(path, Object.keys(SHIPPED))
  if (close !== undefined) return `; did you mean "${close}"?`
  let beside: string[] = []
  try {
    beside = readdirSync(dirname(full))
  } catch {}
  const other = nearest(basename(full), beside)
  if (other !== undefined) return `; did you mean ${join(dirname(path), other)}?`
  // Names such as Llama-3.1-8B have dots, too.
  if (/^[\w.-]+(\/[\w.-]+)?$/.test(path) && !/\.(json|tiktoken|model|bpe|txt)$/.test(path))
    return `: names of models are not looked up; download its tokenizer.json (hf download ${path} tokenizer.json --local-dir FOLDER) and name that folder`
  return ': name a tokenizer.json, its folder, a .tiktoken file, or millrace-4k, which comes along'
}

function nameOf(file: string): string {
  if (basename(file) === 'tokenizer.json') return basename(dirname(file))
  return basename(file, extname(file))
}
