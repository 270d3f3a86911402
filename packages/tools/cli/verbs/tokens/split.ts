/** `millrace tokens split`: a file becomes several, divided between documents. */
import type { Share } from '../../../../llm/prepare/tokens/split.js'
import { command, UsageError } from '../../command.js'
import { EOD, FILE_OPTIONS, FILES, OVERWRITE, openFiles } from './files.js'
import { writing } from './written.js'

/** Names of shares, by how many there are. */
const NAMES: Readonly<Record<number, readonly string[]>> = {
  2: ['train', 'val'],
  3: ['train', 'val', 'test'],
}

export const split = command({
  name: 'tokens split',
  summary: 'divides token files between documents: in shares, or so many documents a file',
  about:
    'Shares are cut in the order of the documents, one behind the other, with the rounding of Megatron-LM: --ratios 969,30,1 gives the same train, ' +
    'valid and test documents as there. Several files are divided as if they were one.',
  args: [FILES],
  options: {
    out: {
      type: 'text',
      value: 'PREFIX',
      about: 'what the names of new files begin with (needed): PREFIX-train.bin',
    },
    ratios: { type: 'text', value: 'A,B,…', about: 'shares of the documents, such as 969,30,1' },
    names: {
      type: 'text',
      value: 'A,B,…',
      about: 'names of the shares (train,val or train,val,test; 0,1,… where there are more)',
    },
    documents: {
      type: 'count',
      least: 1,
      about: 'in place of --ratios: this many documents a file, PREFIX-0000 …',
    },
    ...OVERWRITE,
    ...EOD,
    ...FILE_OPTIONS,
  },
  examples: [
    [
      'millrace tokens split corpus --ratios 969,30,1 --out parts/corpus',
      'corpus-train, corpus-val and corpus-test',
    ],
    [
      'millrace tokens split train.bin --eod 50256 --documents 100000 --out shards/train',
      "nanoGPT's file in shards",
    ],
  ],
  async run({ args, values }) {
    const { out, eod, overwrite } = values
    if (out === undefined) throw new UsageError('millrace tokens split needs --out PREFIX')
    const divide = await division(values.ratios, values.names, values.documents)
    const { splitTokens } = await import('../../../../llm/prepare/tokens/split.js')
    return writing('dividing', out, async (context, notice) => {
      const files = await openFiles(args, values, notice)
      return splitTokens(files, out, divide, { eod, overwrite, context })
    })
  },
})

async function division(
  ratios: string | undefined,
  names: string | undefined,
  each: number | undefined,
): Promise<(documents: number) => Share[]> {
  const { runsOf, sharesOf } = await import('../../../../llm/prepare/tokens/split.js')
  if ((ratios === undefined) === (each === undefined))
    throw new UsageError('millrace tokens split needs --ratios A,B,… or --documents N')
  if (ratios === undefined) return documents => runsOf(each as number, documents)
  const numbers = ratios.split(',').map(text => (text.trim() === '' ? Number.NaN : Number(text)))
  if (!numbers.every(number => number >= 0 && Number.isFinite(number)) || !numbers.some(number => number > 0))
    throw new UsageError(`--ratios wants numbers such as 969,30,1, not "${ratios}"`)
  const named = names?.split(',') ?? NAMES[numbers.length] ?? numbers.map((_, i) => String(i))
  if (
    named.length !== numbers.length ||
    new Set(named).size !== named.length ||
    named.some(name => !/^[^/\0]+$/.test(name))
  )
    throw new UsageError(
      `--names wants ${numbers.length} different names, one for each share, not "${names}"`,
    )
  return documents => sharesOf(numbers, named, documents)
}
