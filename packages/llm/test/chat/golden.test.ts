/** Chats as transformers renders and tokenises them: test/golden/chat has what it made. */
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConversation } from '../../chat/conversation.js'
import { type JsonObject, parseJson } from '../../chat/json.js'
import { ChatRenderer, type ChatSettings } from '../../chat/render.js'
import { ChatTemplate, controlTokens } from '../../chat/template.js'
import { ChatTokenizer } from '../../chat/tokens.js'
import { type OpenedTokenizer, openTokenizer } from '../../tokenize/open.js'

const GOLDEN = new URL('../../../../test/golden/chat/', import.meta.url).pathname
const VOCABULARY = new URL('../../tokenize/shipped/millrace-4k.json', import.meta.url)

interface Expected {
  name: string
  text?: string
  error?: string
  tokens: string
  mask?: [number, number][]
  sanitized?: string
  prompt?: string
}

const lines = (name: string) => readFileSync(join(GOLDEN, name), 'utf8').split('\n').filter(Boolean)
const conversations = lines('conversations.jsonl').map(line => parseJson(line) as JsonObject)
const folder = mkdtempSync(join(tmpdir(), 'millrace-chat-'))
const added = JSON.parse(readFileSync(join(GOLDEN, 'added.json'), 'utf8')) as object[]
let opened: OpenedTokenizer
let tokenizer: ChatTokenizer

beforeAll(async () => {
  const vocabulary = JSON.parse(readFileSync(VOCABULARY, 'utf8'))
  vocabulary.added_tokens.push(...added)
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(vocabulary))
  opened = await openTokenizer({ path: folder, special: 'parse' }, '/')
  tokenizer = new ChatTokenizer(opened)
})
afterAll(() => rmSync(folder, { recursive: true }))

const digest = (tokens: Uint32Array) => createHash('sha1').update(tokens.join()).digest('hex').slice(0, 12)

function runs(mask: Uint8Array): [number, number][] {
  const out: [number, number][] = []
  mask.forEach((bit, i) => {
    const last = out.at(-1)
    if (bit === 1 && last?.[1] === i) last[1] = i + 1
    else if (bit === 1) out.push([i, i + 1])
  })
  return out
}

test('a tokenizer that the package tokenizers does gives the same tokens and mask', async () => {
  const json = JSON.parse(readFileSync(join(folder, 'tokenizer.json'), 'utf8'))
  // A normalizer that changes nothing here, and that our own tokenizer does not know.
  json.normalizer = { type: 'Replace', pattern: { String: '\u0007' }, content: '\u0007' }
  const other = mkdtempSync(join(tmpdir(), 'millrace-chat-'))
  try {
    writeFileSync(join(other, 'tokenizer.json'), JSON.stringify(json))
    // The package runs in a thread, which is a built file.
    const build = new URL('../../../../build/', import.meta.url)
    const built = (await import(
      new URL('llm/chat/tokens.js', build).href
    )) as typeof import('../../chat/tokens.js')
    const tokenize = (await import(
      new URL('llm/tokenize/open.js', build).href
    )) as typeof import('../../tokenize/open.js')
    const packaged = new built.ChatTokenizer(
      await tokenize.openTokenizer({ path: other, special: 'parse' }, '/'),
    )
    for (const spans of [
      [[6, 9]],
      [
        [0, 4],
        [10, 12],
      ],
      [[7, 13]],
    ] as [number, number][][]) {
      const text = {
        pieces: [
          { text: 'a 😀 Größe <|im_end|>\n', literal: false },
          { text: '<|im_end|>', literal: true },
        ],
        spans,
        named: false,
      }
      expect(packaged.encode(text)).toEqual(tokenizer.encode(text))
    }
  } finally {
    rmSync(other, { recursive: true })
  }
})

describe('rendered and tokenised as transformers does', () => {
  const names = readdirSync(join(GOLDEN, 'templates')).map(name => name.replace('.jinja', ''))
  test.for(names)('%s', async name => {
    const source = readFileSync(join(GOLDEN, 'templates', `${name}.jinja`), 'utf8')
    const template = new ChatTemplate(source, name)
    const control = controlTokens(source, opened.vocabulary.added)
    const expected = lines(`${name}.jsonl`).map(line => JSON.parse(line) as Expected)
    expect(expected.length).toBe(conversations.length)
    const settings: ChatSettings = {
      train: template.hasTags ? 'assistant' : 'all',
      contents: 'parse',
      now: '2024-07-26',
      variables: new Map([
        ['bos_token', '<s>'],
        ['eos_token', '</s>'],
      ]),
      control,
    }
    const renderer = new ChatRenderer(template, settings)
    const sanitizing = new ChatRenderer(template, { ...settings, contents: 'text' })
    for (const [i, { name, text, error, tokens, mask, sanitized }] of expected.entries()) {
      const sample = new Map(conversations[i])
      const kwargs = sample.get('kwargs')
      if (kwargs !== undefined) sample.set('chat_template_kwargs', kwargs)
      const read = () => readConversation(sample)
      if (error !== undefined) {
        expect(() => renderer.render(read()), `${name}: ${error}`).toThrow()
        continue
      }
      const rendered = renderer.render(read())
      expect(rendered.pieces.map(piece => piece.text).join(''), name).toBe(text)
      const encoded = tokenizer.encode(rendered)
      expect(digest(encoded.tokens), name).toBe(tokens)
      if (mask !== undefined) expect(runs(encoded.mask), name).toEqual(mask)
      const asText = tokenizer.encode(sanitizing.render(read()))
      expect(digest(asText.tokens), `${name}, contents as text`).toBe(sanitized ?? tokens)
    }
  })
})
