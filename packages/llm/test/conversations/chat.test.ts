/** The source `chat`: conversations become packed rows of tokens with the loss where it belongs, once, and are kept. */
import {
  copyFileSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type AnyBatch, using } from '../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { openRows } from '../../../../test/support/tokens.js'
import type { Ragged } from '../../../all/index.js'
import type { ChatJson, FeedJson, SourceJson } from '../../../core/define/types.js'
import { attachTokenizer, openTokenizer } from '../../tokenize/open.js'

const folder = temporaryFolder()
process.env.MILLRACE_CACHE = join(folder, 'cache')
const VOCABULARY = new URL('../../tokenize/shipped/millrace-4k.json', import.meta.url)
const TEMPLATE = `{% for m in messages %}<|im_start|>{{ m.role }}
{% if m.role == 'assistant' %}{% generation %}{{ m.content }}<|im_end|>{% endgeneration %}{% else %}{{ m.content }}<|im_end|>{% endif %}

{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`

// A model's folder: the tokenizer, its special tokens, its template.
const vocabulary = JSON.parse(readFileSync(VOCABULARY, 'utf8'))
const special = ['<|im_start|>', '<|im_end|>'].map((content, i) => ({
  id: 4096 + i,
  content,
  single_word: false,
  lstrip: false,
  rstrip: false,
  normalized: false,
  special: true,
}))
vocabulary.added_tokens.push(...special)
writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(vocabulary))
writeFileSync(
  join(folder, 'tokenizer_config.json'),
  JSON.stringify({ eos_token: { content: '<|im_end|>' }, chat_template: TEMPLATE }),
)
const tokenizer = attachTokenizer(await openTokenizer({ path: folder, special: 'parse' }, '/'))
const tokensOf = (text: string) => {
  const out = new Uint32Array(text.length * 4 + 8)
  return Array.from(out.subarray(0, tokenizer.encode(Buffer.from(text), out, 0)))
}
const END = 4097

const user = (content: string) => ({ role: 'user', content })
const bot = (content: string, more = {}) => ({ role: 'assistant', content, ...more })
const lines = (name: string, samples: object[]) =>
  writeFileSync(join(folder, name), samples.map(sample => `${JSON.stringify(sample)}\n`).join(''))

const TALKS = Array.from({ length: 30 }, (_, i) => ({
  messages: [
    user(`Question ${i}?`),
    bot(`Answer ${'very '.repeat(i % 5)}${i}`),
    user('And?'),
    bot('No more.'),
  ],
}))
lines('talks.jsonl', TALKS)

const chatOf = (more: Partial<ChatJson> = {}, path = 'talks.jsonl'): { chat: ChatJson } => ({
  chat: { source: { jsonl: path }, tokenizer: '.', length: 128, ...more },
})
const textOf = (tokens: number[]) => Buffer.from(tokenizer.decode(tokens)).toString()
const rendered = (i: number) =>
  TALKS[i].messages.map(({ role, content }) => `<|im_start|>${role}\n${content}<|im_end|>\n`).join('')

test('each conversation is a document, and what the assistant wrote is its target', async () => {
  const reader = await openRows(folder, chatOf({ pack: 'document', shift: 'model' }) as SourceJson)
  expect(reader.source.count).toBe(30)
  const rows = reader.rows(['tokens', 'labels', 'lossMask'])
  rows.forEach(({ tokens, labels, lossMask }, i) => {
    const expected = tokensOf(rendered(i))
    expect(tokens.slice(0, expected.length)).toEqual(expected)
    expect(tokens.slice(expected.length).every(token => token === END)).toBe(true)
    const trained = labels.filter(label => label !== -100)
    expect(textOf(trained)).toBe(`${TALKS[i].messages[1].content}<|im_end|>No more.<|im_end|>`)
    expect(lossMask.reduce((sum, bit) => sum + bit)).toBe(trained.length)
  })
})

test('packed, all conversations are there, and no target crosses a border', async () => {
  const reader = await openRows(folder, chatOf() as SourceJson)
  expect(reader.source.count).toBeLessThan(30)
  let seen = ''
  for (const { input, target, segments } of reader.rows(['input', 'target', 'segments'])) {
    seen += textOf(target.filter(token => token !== -100))
    segments.forEach((segment, i) => {
      if (target[i] !== -100 && segments[i + 1] === segment) expect(target[i]).toBe(input[i + 1])
    })
  }
  const sorted = (text: string) => text.split('No more.<|im_end|>').sort()
  expect(sorted(seen)).toEqual(
    sorted(TALKS.map(({ messages }) => `${messages[1].content}<|im_end|>No more.<|im_end|>`).join('')),
  )
})

test('a feed has them with the names of Hugging Face, whatever the number of workers', async () => {
  const definition: FeedJson = {
    source: chatOf({ naming: 'hf' }),
    order: { shuffle: 'global', seed: 3 },
    batch: { size: 2, last: 'keep' },
  } as unknown as FeedJson
  const runs: string[] = []
  for (const workers of [0, 2]) {
    const seen: string[] = []
    await using(definition, { root: folder, workers, notice: () => {}, epochs: 1 }, async loader => {
      for await (const batch of loader as AsyncIterable<AnyBatch>) {
        for (const name of ['input_ids', 'labels', 'position_ids', 'seq_lens'])
          seen.push(`${name} ${Array.from(batch[name] as ArrayLike<bigint>)}`)
      }
    })
    runs.push(seen.join('\n'))
  }
  expect(runs[0]).toBe(runs[1])
  expect(runs[0].split('\n')[0].split(',')).toHaveLength(2 * 128)
})

test('they are tokenised once; what is damaged or changed is made anew', async () => {
  const name = 'once.jsonl'
  lines(name, TALKS.slice(0, 5))
  const cache = join(folder, 'cache/chat')
  const kept = () => readdirSync(cache).filter(file => file.endsWith('.bin'))
  const before = new Set(readdirSync(cache))
  const rowsOf = async () =>
    (await openRows(folder, chatOf({}, name) as SourceJson)).rows(['input', 'target'])
  const rows = await rowsOf()
  const mine = kept().filter(file => !before.has(file))
  expect(mine).toHaveLength(1)
  expect(readdirSync(cache).filter(file => /lock|draft/.test(file))).toEqual([])
  const bin = join(cache, mine[0])
  const made = statSync(bin).ino
  expect(await rowsOf()).toEqual(rows)
  expect(statSync(bin).ino).toBe(made)
  // Cut short, or other bytes of the same length: both are seen.
  truncateSync(bin, 10)
  expect(await rowsOf()).toEqual(rows)
  const damaged = readFileSync(bin)
  damaged[3] ^= 0xff
  writeFileSync(bin, damaged)
  expect(await rowsOf()).toEqual(rows)
  expect(readFileSync(bin)).not.toEqual(damaged)
  // Other data under the same name.
  lines(name, [{ messages: [user('x'), bot('other')] }])
  utimesSync(join(folder, name), 1, 1)
  expect(textOf((await rowsOf())[0].target.filter(token => token !== -100))).toBe('other<|im_end|>')
})

test('a bad conversation is named by file and line, or left out and counted', async () => {
  const name = 'bad.jsonl'
  const bad = [{ messages: [{ content: 'no role' }] }, { text: 'no chat' }]
  writeFileSync(
    join(folder, name),
    [...TALKS.slice(0, 3), ...bad]
      .map(sample => JSON.stringify(sample))
      .concat('{"messages": [', '')
      .join('\n'),
  )
  const source = chatOf({ pack: 'document' }, name) as SourceJson
  await expect(openRows(folder, source)).rejects.toThrow(
    /chat: .*bad\.jsonl, line 4: messages\[0\] has no role.*"onError": "drop"/,
  )
  const reader = await openRows(folder, source, [], { bad: 'drop' })
  expect(reader.source.count).toBe(3)
  expect(reader.notices.join('\n')).toMatch(/3 of 6 conversations are left out: .*line 4: .*line 5: .*line 6/)
  lines('all-bad.jsonl', bad)
  await expect(
    openRows(folder, chatOf({}, 'all-bad.jsonl') as SourceJson, [], { bad: 'drop' }),
  ).rejects.toThrow('all 2 conversations are bad')
})

test('in threads, the result is the same, and progress is told', async () => {
  const many = Array.from({ length: 700 }, (_, i) => TALKS[i % 30])
  lines('many.jsonl', many)
  let last = 0
  const definition = {
    source: chatOf({ pack: 'document', shift: 'model' }, 'many.jsonl'),
    batch: 100,
  } as unknown as FeedJson
  const onProgress = (done: number, _total: number, _what: string, unit: string) => {
    if (unit === 'conversations') last = Math.max(last, done)
  }
  let row = 0
  await using(
    definition,
    { root: folder, workers: 0, notice: () => {}, progress: onProgress, epochs: 1 },
    async loader => {
      await loader.ready
      for await (const batch of loader as AsyncIterable<AnyBatch>) {
        const data = batch.tokens as BigInt64Array
        for (let i = 0; i < 100; i++, row++) {
          const expected = tokensOf(rendered((row % 700) % 30))
          expect(Array.from(data.slice(128 * i, 128 * i + expected.length), Number)).toEqual(expected)
        }
      }
    },
  )
  expect(row).toBe(700)
  expect(last).toBe(700)
})

test('the order hash follows from contents, tokenizer, template and options, not from where they lie', async () => {
  const hashOf = async (more: Partial<ChatJson> = {}) =>
    using(
      { source: chatOf(more), batch: 2 } as unknown as FeedJson,
      { root: folder, workers: 0, notice: () => {} },
      async loader => {
        await loader.ready
        return (loader.state() as unknown as { order: string }).order
      },
    )
  writeFileSync(join(folder, 'same.jinja'), TEMPLATE)
  writeFileSync(
    join(folder, 'other.jinja'),
    TEMPLATE.replace('And', 'and').replace('{{ m.role }}', '{{ m.role }} '),
  )
  const plain = await hashOf()
  expect(await hashOf({ template: 'same.jinja' })).toBe(plain)
  for (const more of [
    { template: 'other.jinja' },
    { train: 'all' },
    { length: 64 },
    { pack: 'document' },
  ] as const)
    expect(await hashOf(more), JSON.stringify(more)).not.toBe(plain)
})

test('names of special tokens in contents are told of, and can stay text', async () => {
  lines('attack.jsonl', [{ messages: [user('<|im_end|>x'), bot('y')] }])
  const rows = async (more: Partial<ChatJson>) => {
    const reader = await openRows(
      folder,
      chatOf({ ...more, pack: 'document', shift: 'model' }, 'attack.jsonl') as SourceJson,
    )
    const [{ tokens, labels }] = reader.rows(['tokens', 'labels'])
    const end = labels.lastIndexOf(END) + 1
    return {
      ends: tokens.slice(0, end).filter(token => token === END).length,
      notices: reader.notices.join('\n'),
    }
  }
  const parsed = await rows({})
  expect(parsed.ends).toBe(3)
  expect(parsed.notices).toContain('1 of 1 conversations have names of special tokens')
  const text = await rows({ contents: 'text' })
  expect(text.ends).toBe(2)
  expect(text.notices).not.toContain('special tokens')
})

test('conversations of Parquet and Arrow, which are lists of structs', async () => {
  const golden = new URL('../../../../test/golden/chat/', import.meta.url).pathname
  const texts = [
    '<|im_start|>user\nGröße?<|im_end|>\n<|im_start|>assistant\n14 px<|im_end|>\n',
    '<|im_start|>system\ns<|im_end|>\n<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\nx<|im_end|>\n',
  ]
  // Copies, since an index is written beside each.
  for (const name of ['talks.parquet', 'talks.arrow']) copyFileSync(join(golden, name), join(folder, name))
  for (const source of [{ parquet: 'talks.parquet' }, { arrow: 'talks.arrow' }]) {
    const json = chatOf({ source, pack: 'document', shift: 'model' }) as SourceJson
    const rows = (await openRows(folder, json)).rows(['tokens'])
    expect(rows.map(({ tokens }, i) => tokens.slice(0, tokensOf(texts[i]).length))).toEqual(
      texts.map(tokensOf),
    )
  }
})

test('long conversations are cut, split or left out', async () => {
  lines('long.jsonl', [{ messages: [user('a'), bot('word '.repeat(200))] }, TALKS[0]])
  const rows = async (long?: ChatJson['long']) =>
    (
      await openRows(
        folder,
        chatOf({ length: 64, shift: 'model', ...(long && { long }) }, 'long.jsonl') as SourceJson,
      )
    ).source.count
  expect(await rows('drop')).toBe(1)
  expect(await rows('split')).toBeGreaterThan(2)
  expect(await rows()).toBe(await rows('truncate'))
})

const PAIR = { prompt: [user('Which?')], chosen: [bot('this one')], rejected: [bot('that')] }

test('pairs: prompt, chosen and rejected, never packed', async () => {
  const implicit = { chosen: [user('Which?'), bot('this one')], rejected: [user('Which?'), bot('that')] }
  lines('pairs.jsonl', [
    PAIR,
    implicit,
    { prompt: 'Which?', chosen: [user('Which?'), bot('this one')], rejected: [user('Which?'), bot('that')] },
  ])
  const columns = ['prompt', 'chosen', 'rejected', 'promptMask', 'chosenMask']
  const reader = await openRows(folder, chatOf({ pairs: true }, 'pairs.jsonl') as SourceJson, columns)
  expect(reader.source.count).toBe(3)
  for (const row of reader.rows(columns)) {
    expect(row.prompt).toEqual(tokensOf('<|im_start|>user\nWhich?<|im_end|>\n<|im_start|>assistant\n'))
    expect(row.chosen).toEqual(tokensOf('this one<|im_end|>\n'))
    expect(row.rejected).toEqual(tokensOf('that<|im_end|>\n'))
    expect(row.promptMask).toEqual(row.prompt.map(() => 1))
    expect(row.chosenMask).toEqual(row.chosen.map(() => 1))
  }
  expect(reader.source.id(1)).toBe('pairs.jsonl:1')
})

test('pairs of plain texts: what both begin with is the prompt, up to a word', async () => {
  lines('texts.jsonl', [{ chosen: 'The sky is blue', rejected: 'The sky is green' }])
  const reader = await openRows(folder, chatOf({ pairs: true }, 'texts.jsonl') as SourceJson, [
    'prompt',
    'chosen',
    'rejected',
  ])
  const [row] = reader.rows(['prompt', 'chosen', 'rejected'])
  expect([row.prompt, row.chosen, row.rejected].map(textOf)).toEqual([
    'The sky is',
    ' blue<|im_end|>',
    ' green<|im_end|>',
  ])
})

test('another tokenizer under the same name makes other tokens', async () => {
  const made = async (merges: number) => {
    const vocabulary = JSON.parse(readFileSync(join(folder, 'tokenizer.json'), 'utf8'))
    vocabulary.model.merges = vocabulary.model.merges.slice(0, merges)
    writeFileSync(join(folder, 'changing.json'), JSON.stringify(vocabulary))
    const json = chatOf({ tokenizer: 'changing.json', pack: 'document', shift: 'model', length: 512 })
    return (await openRows(folder, json as SourceJson)).rows(['tokens'])[0].tokens
  }
  const [before, behind] = [await made(2000), await made(10)]
  expect(behind).not.toEqual(before)
})

test('answers that are JSON are texts, and lists of messages are messages', async () => {
  const [chosen, rejected] = ['[{"name": "Paris"}]', '[{"name": "Rome"}, 1]']
  lines('answers.jsonl', [{ prompt: 'Cities:', chosen, rejected }])
  const json = chatOf({ pairs: true }, 'answers.jsonl') as SourceJson
  const [row] = (await openRows(folder, json, ['chosen', 'rejected'])).rows(['chosen', 'rejected'])
  expect([row.chosen, row.rejected].map(textOf)).toEqual([`${chosen}<|im_end|>`, `${rejected}<|im_end|>`])
  lines('roleless.jsonl', [{ prompt: [user('a')], chosen: [{ content: 'b' }], rejected: [bot('c')] }])
  const bad = chatOf({ pairs: true }, 'roleless.jsonl') as SourceJson
  await expect(openRows(folder, bad, ['chosen'])).rejects.toThrow('chosen[0] has no role')
})

test('pairs in a feed: padded with masks, or ragged, with the names of TRL', async () => {
  lines('three.jsonl', [
    PAIR,
    { ...PAIR, chosen: [bot('a much longer answer than the other')] },
    { chosen: [user('x'), bot('y')], rejected: [user('x'), bot('zz')] },
  ])
  const batchOf = async <T>(more: Partial<ChatJson>, use: (batch: AnyBatch) => T): Promise<T> => {
    const definition = {
      source: chatOf({ pairs: true, ...more }, 'three.jsonl'),
      batch: 3,
    } as unknown as FeedJson
    return using(definition, { root: folder, workers: 0, notice: () => {} }, async loader => {
      for await (const batch of loader as AsyncIterable<AnyBatch>) return use(batch)
      throw new Error('there is no batch')
    })
  }
  const answers = ['this one', 'a much longer answer than the other', 'y'].map(text =>
    tokensOf(`${text}<|im_end|>\n`),
  )
  const longest = Math.max(...answers.map(({ length }) => length))
  await batchOf({ naming: 'hf' }, batch => {
    expect(Array.from(batch.lengths('chosen_ids'))).toEqual(answers.map(({ length }) => length))
    const filled = answers.map(tokens => [...tokens, ...new Array(longest - tokens.length).fill(0)])
    expect(Array.from(batch.chosen_ids as BigInt64Array, Number)).toEqual(filled.flat())
    const mask = batch.chosen_attention_mask as Uint8Array
    expect(Array.from(mask, Number)).toEqual(
      answers.flatMap(({ length }) => [...new Array(length).fill(1), ...new Array(longest - length).fill(0)]),
    )
    expect(batch.prompt_ids).toBeDefined()
    expect(batch.rejected_attention_mask).toBeDefined()
  })
  await batchOf({ ragged: true }, batch => {
    const { values, offsets } = batch.chosen as Ragged
    expect(Array.from(values, Number)).toEqual(answers.flat())
    expect(Array.from(offsets)).toEqual([0, ...answers.map((_, i) => answers.slice(0, i + 1).flat().length)])
    expect(batch.chosenMask).toBeUndefined()
  })
})

test('without a template no conversation is to blame, and none is dropped', async () => {
  const bare = { ...chatOf({}, 'talks.jsonl').chat, tokenizer: 'millrace-4k', template: undefined }
  for (const bad of ['fail', 'drop'] as const)
    await expect(openRows(folder, { chat: bare } as SourceJson, [], { bad })).rejects.toThrow(
      /^chat: the tokenizer has no chat template beside it .*"template"$/,
    )
})

test('data that are no conversations are told with their columns', async () => {
  lines('texts.jsonl', [{ text: 'a', meta: 1 }])
  await expect(openRows(folder, chatOf({}, 'texts.jsonl') as SourceJson)).rejects.toThrow(
    /line 1: it has none of messages, prompt, completion, conversations; columns of the data are text, meta/,
  )
})

test('pairs that are none, that are too long, or say how they are packed', async () => {
  lines('same.jsonl', [{ chosen: [user('x'), bot('y')], rejected: [user('x'), bot('y')] }])
  await expect(openRows(folder, chatOf({ pairs: true }, 'same.jsonl') as SourceJson)).rejects.toThrow(
    'line 1: chosen and rejected are the same',
  )
  await expect(openRows(folder, chatOf({ pairs: true }, 'talks.jsonl') as SourceJson)).rejects.toThrow(
    'it has none of prompt, chosen, rejected; columns of the data are messages',
  )
  lines('half.jsonl', [{ prompt: [user('x')], rejected: [bot('y')] }])
  await expect(openRows(folder, chatOf({ pairs: true }, 'half.jsonl') as SourceJson)).rejects.toThrow(
    'it is no pair: it has no "chosen"',
  )
  lines('wide.jsonl', [PAIR, { ...PAIR, chosen: [bot('word '.repeat(300))] }])
  const countOf = async (long: 'drop' | 'truncate') => {
    const reader = await openRows(folder, chatOf({ pairs: true, long }, 'wide.jsonl') as SourceJson, [
      'prompt',
      'chosen',
    ])
    return reader.rows(['prompt', 'chosen']).map(({ prompt, chosen }) => prompt.length + chosen.length)
  }
  expect(await countOf('drop')).toHaveLength(1)
  expect((await countOf('truncate'))[1]).toBe(128)
  const packed = { source: chatOf({ pairs: true, pack: 'bestFit' }), batch: 1 } as unknown as FeedJson
  const { validateFeed } = await import('../../../core/define/check/validate.js')
  expect(() => validateFeed(packed)).toThrow('does not go with "pairs"')
})
