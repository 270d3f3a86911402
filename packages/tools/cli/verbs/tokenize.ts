/** `millrace tokenize`: text becomes files of tokens. */
import { command, THREADS, UsageError } from '../command.js'
import { onInterrupt } from '../interrupt.js'
import { keptNotices, Progress } from '../progress.js'
import { bytes, count, counted, duration, rate } from '../units.js'

/** Enough for most corpora in a few passes, and no burden to a machine that trains. */
const USUAL_MEMORY = 1 << 30
/** As the budget of feeds. */
const USUAL_BUDGET = 100

const FORMATS = ['megatron', 'nanogpt', 'llmc', 'npy'] as const

export const tokenize = command({
  name: 'tokenize',
  summary: 'turns text into files of tokens',
  about:
    'Tokenises text in parallel into a file of tokens: JSON lines, text, Parquet, Arrow or CSV, also compressed. The result does not ' +
    'depend on the number of threads. A run that was stopped, even by kill -9, goes on where it was when the same command is given again.',
  args: [
    {
      name: 'INPUT',
      about: 'files, patterns such as "data/*.jsonl.gz", folders, or - for lines from stdin',
      many: true,
    },
  ],
  options: {
    tokenizer: {
      type: 'text',
      value: 'T',
      about: 'a tokenizer.json, its folder, a .tiktoken file, or millrace-4k, for trials (needed)',
    },
    out: { type: 'text', value: 'PREFIX', about: 'path of the outputs, without ending (needed)' },
    format: { type: 'text', value: 'F', default: 'megatron', about: 'megatron, nanogpt, llmc or npy' },
    key: {
      type: 'text',
      value: 'NAME',
      default: 'text',
      about: 'the key or column with the text; a.b is b in a',
    },
    lines: { type: 'flag', about: 'each line of a .txt file is a document, not the file' },
    'append-eod': {
      type: 'flag',
      about: "end each document with the tokenizer's token for that (llmc: it stands first)",
    },
    eod: { type: 'count', about: 'the same, with this token' },
    shuffle: { type: 'count', value: 'SEED', about: 'shuffle the documents' },
    memory: {
      type: 'bytes',
      least: 1 << 20,
      about: 'memory for shuffling (1GiB); it changes no result',
    },
    special: {
      type: 'text',
      value: 'HOW',
      default: 'text',
      about: 'names of special tokens in a text are text, or those tokens: parse',
    },
    invalid: {
      type: 'text',
      value: 'HOW',
      default: 'replace',
      about: 'bytes that are no UTF-8: replace (by U+FFFD), or fatal: a bad document',
    },
    'on-error': {
      type: 'text',
      value: 'HOW',
      default: 'fail',
      about: 'a bad document (no JSON, no text under the key): fail, or skip it',
    },
    budget: { type: 'count', default: USUAL_BUDGET, about: 'more skipped documents than this are an error' },
    part: { type: 'text', value: 'K/N', about: "machine K's share of N (millrace tokens merge joins them)" },
    ...THREADS,
    restart: { type: 'flag', about: 'begin anew, and replace outputs that are there' },
  },
  examples: [
    [
      'millrace tokenize data/*.jsonl --tokenizer tokenizer.json --append-eod --out corpus',
      'the key "text" of JSON lines → corpus.bin and corpus.idx, as Megatron has them',
    ],
    [
      'millrace tokenize books --tokenizer gpt2.tiktoken --append-eod --shuffle 7 --format nanogpt --out train',
      'every file of a folder is a document, shuffled → train.bin',
    ],
    [
      'millrace tokenize - --key content --tokenizer tokenizer.json --out web < web.jsonl',
      'lines from stdin',
    ],
  ],
  async run({ args, values }) {
    const { tokenizer: path, out } = values
    if (path === undefined)
      throw new UsageError(
        'millrace tokenize needs --tokenizer T: a tokenizer.json, its folder, a .tiktoken file, or millrace-4k',
      )
    if (out === undefined || out === '')
      throw new UsageError('millrace tokenize needs --out PREFIX, the path of the outputs without ending')
    const isStdin = args.includes('-')
    if (isStdin && args.length > 1) throw new UsageError('- is all of the input: give no files beside it')
    const part = partOf(values.part)
    if (part !== undefined && values.shuffle !== undefined)
      throw new UsageError(
        '--shuffle needs all documents: tokenise with --shuffle on one machine, or leave it out',
      )
    if (part !== undefined && isStdin) throw new UsageError('--part divides files: stdin can not be divided')
    const format = oneOf('format', values.format, FORMATS)
    const tokenizer = {
      path,
      special: oneOf('special', values.special, ['text', 'parse'] as const),
      invalid: oneOf('invalid', values.invalid, ['replace', 'fatal'] as const),
    }
    const onError = oneOf('on-error', values['on-error'], ['fail', 'skip'] as const)
    const [{ tokenize }, { usableCores }, { sweepDrafts }] = await Promise.all([
      import('../../../llm/prepare/tokenize/tokenize.js'),
      import('../../../core/system/process/limits.js'),
      import('../../../core/system/files/draft.js'),
    ])
    const progress = new Progress('tokenising', { unit: 'bytes' })
    const { notices, onNotice } = keptNotices()
    const before = performance.now()
    const release = onInterrupt(() => sweepDrafts(`${out}.parts`, true))
    try {
      const result = await tokenize(args, {
        tokenizer,
        out,
        format,
        key: values.key,
        lines: values.lines,
        part,
        onError,
        eod: values.eod ?? values['append-eod'],
        ...(values.shuffle !== undefined && {
          shuffle: { seed: values.shuffle, memory: values.memory ?? USUAL_MEMORY },
        }),
        workers: values.workers ?? usableCores(),
        budget: values.budget,
        restart: values.restart,
        root: process.cwd(),
        ...(isStdin && { stdin: process.stdin }),
        onProgress: ({ what, done, total, unit, tokens }) =>
          progress.set(done, total, what, unit, unit === 'bytes' ? tokens : undefined),
        onNotice,
      })
      progress.end()
      const seconds = (performance.now() - before) / 1000
      const mb = result.textBytes / 1e6 / seconds
      return {
        json: { ...result, notices, seconds, mbPerSecond: mb, tokensPerSecond: result.tokens / seconds },
        text: [
          `${counted(result.documents, 'document')}, ${counted(result.tokens, 'token')} (${result.dtype}) in ${bytes(result.bytes)}, ` +
            `from ${bytes(result.textBytes)} of text, in ${duration(seconds)} (${mb.toFixed(1)} MB/s, ${rate(result.tokens / seconds, 'tokens')})`,
          ...leftOut(result),
          result.outputs.join('\n'),
          next(result, part),
        ].join('\n'),
      }
    } finally {
      progress.end()
      release()
    }
  },
})

interface Reported {
  empty: number
  skipped: number
  replaced: number
  reused: number
  bad: readonly string[]
}

/** What a reader of the result should know. */
function leftOut({ empty, skipped, replaced, reused, bad }: Reported): string[] {
  const lines = bad.map(text => `skipped: ${text}`)
  if (skipped > bad.length) lines.push(`… and ${count(skipped - bad.length)} more`)
  const reported = [
    empty > 0 && `${counted(empty, 'empty document')} left out`,
    skipped > 0 && `${counted(skipped, 'bad document')} skipped`,
    replaced > 0 && `${counted(replaced, 'document')} had bytes that are no UTF-8: replaced by U+FFFD`,
    reused > 0 && `${counted(reused, 'part')} ${reused === 1 ? 'was' : 'were'} there already`,
  ].filter(text => text !== false)
  return reported.length === 0 ? lines : [...lines, reported.join('; ')]
}

interface Made {
  format: string
  dtype: string
  outputs: readonly string[]
  eod?: number
}

/** The command that comes next. */
function next({ format, dtype, outputs: [file], eod }: Made, part: { of: number } | undefined): string {
  if (part !== undefined) {
    const all = file.replace(/-\d+-of-(\d+)\.(\w+)$/, (_, of, end) => `-*-of-${of}.${end}`)
    const whole = file.replace(/-\d+-of-\d+\.(\w+)$/, '')
    return `When all ${part.of} shares are done: millrace tokens merge '${all}' --out ${whole}`
  }
  const tokens = {
    path: file,
    ...(format === 'nanogpt' && { dtype }),
    ...(format !== 'megatron' && eod !== undefined && { eod }),
    length: 1024,
  }
  const feed = { source: { tokens }, order: { shuffle: 'global', seed: 7 }, batch: 8 }
  return `A feed of it: millrace run '${JSON.stringify(feed)}'`
}

function partOf(text: string | undefined): { number: number; of: number } | undefined {
  if (text === undefined) return undefined
  const [, number, of] = /^(\d{1,5})\/(\d{1,5})$/.exec(text)?.map(Number) ?? []
  if (number >= 1 && number <= of) return { number, of }
  throw new UsageError(`--part wants K/N with K from 1 to N, such as 1/4, not "${text}"`)
}

function oneOf<const T extends string>(name: string, given: string, known: readonly T[]): T {
  const found = known.find(one => one === given)
  if (found !== undefined) return found
  throw new UsageError(`--${name} wants ${known.join(', ').replace(/, ([^,]*)$/, ' or $1')}, not "${given}"`)
}
