/**
 * Model files that are made to harm: 500 templates and tokenizers, by a seed. Each is rendered, or opened and asked for tokens, or
 * refused by name; none ends the process, works for more than five seconds, or takes 500 MB more than what it is told to read.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/folder.js'

// From build/, since the package tokenizers runs in a process.
const built = async <T>(path: string): Promise<T> =>
  (await import(new URL(`../../build/${path}`, import.meta.url).href)) as T
const { ChatTemplate } =
  await built<typeof import('../../packages/llm/chat/template.js')>('llm/chat/template.js')
const { parseJson } = await built<typeof import('../../packages/llm/chat/json.js')>('llm/chat/json.js')
const { attachTokenizer, openTokenizer } =
  await built<typeof import('../../packages/llm/tokenize/open.js')>('llm/tokenize/open.js')
const { MillraceError } =
  await built<typeof import('../../packages/core/basics/errors.js')>('core/basics/errors.js')

const TEMPLATES = 440
const TOKENIZERS = 60
const MOST_MS = 5000
const MOST_BYTES = 500 << 20
/** On a busy machine a process has the processor for one in so many seconds. */
const BUSY = 12

/** Numbers that follow from a seed (mulberry32). */
function random(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) % below
  }
}

const VALUES = [
  'ns.t',
  'ns.l',
  'messages',
  "'a b' * 5000000",
  'range(900000)',
  'range(900000) | list',
  '[ns.l, ns.l]',
  "{'a': ns.l}",
  '3 ** 9999',
  "'é👋' * 999999",
]
const WORK = [
  ...[
    'upper',
    'title',
    'reverse',
    'list',
    'sort',
    'unique | list',
    'tojson',
    'tojson(indent=999999)',
    'string',
    'length',
    'join("xxxxxxxx")',
  ],
  ...[
    'replace("a", "aaaaaaaa")',
    'replace("", "----")',
    'indent(99999999, true, true)',
    'map("list") | list',
    'batch(3, 0) | list',
    'sum(start=[])',
  ],
  ...[
    'groupby(0)',
    'center(2000000000)',
    'select("in", range(9999)) | list',
    'map("string") | join',
    'dictsort',
    'items | list',
    'wordcount',
    'max',
    'truncate(9)',
  ],
]
const STEPS = [
  'ns.l = ns.l + ns.l',
  'ns.l = [ns.l, ns.l, ns.t]',
  'ns.t = ns.t ~ ns.t',
  "ns.l = (ns.t * 99).split('a')",
  'ns.n = ns.n * ns.n',
  'ns.l = ns.l[::-1] * 2',
  "ns.t = ns.t.replace('a', 'aa')",
  'ns.l = dict(a=ns.l, b=ns.l).values() | list',
]

function template(seed: number): string {
  const next = random(seed)
  const one = (of: readonly string[]) => of[next(of.length)]
  const blanks = ' '.repeat(next(4) === 0 ? next(300_000) : next(3))
  const deep = next(8) === 0 ? `{{ ${'('.repeat(next(100_000))}1 }}` : ''
  const loops = 1 + next(3)
  const times = () => one(['9', '70', '99999', '1000000', '10 ** 12'])
  const body = Array.from({ length: 1 + next(3) }, () => `{%-${blanks}set ${one(STEPS)} %}`).join('')
  const work = Array.from({ length: 1 + next(3) }, () => `{{ (${one(VALUES)}) | ${one(WORK)} }}`).join('')
  const inner = next(2) === 0 ? body + work : work
  const macro = next(4) === 0 ? '{% macro f(x) %}{{ f(x ~ x) }}{{ f(x) }}{% endmacro %}{{ f("a") }}' : ''
  const open = Array.from({ length: loops }, (_, i) => `{% for i${i} in range(${times()}) %}`).join('')
  return `${deep}{% set ns = namespace(t='ab', l=[1], n=3) %}${open}${inner}${'{% endfor %}'.repeat(loops)}${body}${work}${macro}${'{#'.repeat(next(2) * 50_000)}`
}

function tokenizer(seed: number): string {
  const next = random(seed)
  const vocab: Record<string, number> = { u: 0, a: 1, '##a': 2, b: 3 }
  const grow = { type: 'Replace', pattern: next(2) === 0 ? { String: 'a' } : { Regex: 'a' }, content: 'aaaa' }
  const regex = {
    type: 'Split',
    pattern: { Regex: ['(a+)+$', '(a|a)*$', '(a*)*b', '((a+)*)+c'][next(4)] },
    behavior: 'Isolated',
    invert: false,
  }
  const json: Record<string, unknown> = {
    version: '1.0',
    added_tokens: [],
    normalizer:
      next(3) === 0
        ? { type: 'Sequence', normalizers: Array.from({ length: 1 + next(60) }, () => grow) }
        : null,
    pre_tokenizer: next(2) === 0 ? regex : { type: 'Whitespace' },
    model: {
      type: ['WordPiece', 'WordLevel', 'BPE', 'Unigram'][next(4)],
      unk_token: 'u',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 1e9,
      vocab,
      merges: [],
    },
  }
  const ids = [4e9, 2 ** 31 - 1, -1, 1.5, 3, 2 ** 53, '7', null]
  if (next(3) === 0) vocab.zzzz = ids[next(ids.length)] as number
  if (next(3) === 0)
    json.added_tokens = [
      { id: ids[next(ids.length)], content: 'x'.repeat(next(2) * 3_000_000), special: true },
    ]
  if (next(8) === 0) return `{"model": ${'['.repeat(200_000)}`
  return JSON.stringify(json)
}

const peak = (): number =>
  1024 * Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'latin1'))![1])

/** A model takes no more than this time of the processor, and this much memory at its peak; that of other processes has limits of its own. */
async function harmless(name: string, run: () => Promise<unknown> | unknown): Promise<void> {
  writeFileSync('/proc/self/clear_refs', '5') // the peak is that of now
  const [begin, clock, before] = [process.cpuUsage(), performance.now(), peak()]
  try {
    await run()
  } catch (error) {
    if (!(error instanceof MillraceError))
      throw new Error(`${name} is not refused by name: ${error}`, { cause: error })
  }
  const { user, system } = process.cpuUsage(begin)
  expect((user + system) / 1000, `${name}: milliseconds of the processor`).toBeLessThan(MOST_MS)
  expect(performance.now() - clock, `${name}: milliseconds`).toBeLessThan(BUSY * MOST_MS)
  expect(peak() - before, `${name}: bytes`).toBeLessThan(MOST_BYTES)
}

test('templates', { timeout: 0 }, async () => {
  const messages = parseJson('[{"role": "user", "content": "a"}]') as never
  for (let seed = 0; seed < TEMPLATES; seed++)
    await harmless(`template ${seed}`, () =>
      new ChatTemplate(template(seed), 'hostile').render(
        messages,
        { tools: null, variables: new Map() },
        { open: '\ue000', close: '\ue001' },
      ),
    )
})

test('tokenizers', { timeout: 0 }, async () => {
  const folder = temporaryFolder()
  process.env.MILLRACE_CACHE = join(folder, 'cache')
  for (let seed = 0; seed < TOKENIZERS; seed++) {
    const path = join(folder, `${seed}`)
    mkdirSync(path)
    writeFileSync(join(path, 'tokenizer.json'), tokenizer(seed))
    let opened: Awaited<ReturnType<typeof openTokenizer>> | undefined
    await harmless(`opening tokenizer ${seed}`, async () => (opened = await openTokenizer(path, folder)))
    if (opened === undefined) continue
    const asked = attachTokenizer(opened)
    await harmless(`tokenizer ${seed}`, () =>
      asked.encode(Buffer.from(`${'a'.repeat(40)}!`), new Uint32Array(1 << 20), 0),
    )
  }
})
