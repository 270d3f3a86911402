/** `millrace tokens inspect`: what is in token files. */
import type { TokenStatistics } from '../../../../llm/prepare/tokens/statistics.js'
import { command } from '../../command.js'
import { keptNotices, Progress } from '../../progress.js'
import { pairs, right, table } from '../../table.js'
import { bytes, count } from '../../units.js'
import { EOD, FILE_OPTIONS, FILES, openFiles } from './files.js'

export const inspect = command({
  name: 'tokens inspect',
  summary: 'says what is in token files: format, type, documents, tokens, lengths',
  about:
    'Reads headers and the index. Documents of files that do not list them (nanogpt, llmc, npy) are counted when --eod names the token ' +
    'that marks them: such files are read once, and what was found is kept.',
  args: [FILES],
  options: { ...EOD, ...FILE_OPTIONS },
  examples: [
    ["millrace tokens inspect 'corpus-*.bin'", "Megatron's files: a line for each, and the sum"],
    [
      'millrace tokens inspect train.bin --eod 50256 --json',
      "nanoGPT's, with its documents, for a program to read",
    ],
  ],
  async run({ args, values }) {
    const { statisticsOf, total } = await import('../../../../llm/prepare/tokens/statistics.js')
    const { notices, onNotice } = keptNotices()
    const files = await openFiles(args, values, onNotice)
    const progress = new Progress('counting', { unit: 'documents' })
    const context = {
      root: process.cwd(),
      wanted: [],
      notice: onNotice,
      progress: (...reported: [number, number, string, string]) => progress.set(...reported),
    }
    const reported: TokenStatistics[] = []
    for (const file of files) reported.push(await statisticsOf(file, values.eod, context))
    progress.end()
    const sum = total(reported)
    return {
      json: { files: reported, total: sum, notices },
      text: reported.length === 1 ? one(reported[0]) : many(reported, sum),
    }
  },
})

const shown = (value: number | undefined): string => (value === undefined ? '–' : count(value))

function lengths({ shortest, mean, longest, empty }: Partial<TokenStatistics>): string {
  if (shortest === undefined || mean === undefined) return '–'
  return `${count(shortest)} … ${mean.toFixed(1)} … ${shown(longest)} tokens${empty ? `, ${count(empty)} empty` : ''}`
}

function one(file: TokenStatistics): string {
  const { format, dtype, path, tokens, documents, groups } = file
  const facts: [string, string][] = [
    ['format', format],
    ['type', dtype],
    ['tokens', count(tokens)],
    [
      'documents',
      documents === undefined ? 'not listed: --eod names the token that marks them' : count(documents),
    ],
    ...(groups === undefined
      ? []
      : [['in', `${count(groups)} documents of several sequences, as Megatron counts`] as [string, string]]),
    ...(documents === undefined ? [] : [['lengths', lengths(file)] as [string, string]]),
    ['size', `${bytes(file.bytes)}${file.indexBytes > 0 ? `, index ${bytes(file.indexBytes)}` : ''}`],
  ]
  return `${path}\n\n${pairs(facts)}`
}

function many(
  files: readonly TokenStatistics[],
  sum: ReturnType<typeof import('../../../../llm/prepare/tokens/statistics.js').total>,
): string {
  const heads = [
    'file',
    'format',
    'type',
    ...['documents', 'tokens', 'shortest', 'mean', 'longest', 'size'].map(right),
  ]
  const row = (one: Partial<TokenStatistics> & { tokens: number; bytes: number; indexBytes: number }) => [
    shown(one.documents),
    count(one.tokens),
    shown(one.shortest),
    one.mean?.toFixed(1) ?? '–',
    shown(one.longest),
    bytes(one.bytes + one.indexBytes),
  ]
  return table(heads, [
    ...files.map(file => [file.name, file.format, file.dtype, ...row(file)]),
    ['together', '', '', ...row(sum)],
  ])
}
