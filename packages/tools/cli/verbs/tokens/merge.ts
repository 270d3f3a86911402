/** `millrace tokens merge`: parts become one file. */
import { command, UsageError } from '../../command.js'
import { FILE_OPTIONS, FILES, OVERWRITE, openFiles } from './files.js'
import { writing } from './written.js'

export const merge = command({
  name: 'tokens merge',
  summary: 'joins token files of one format into one',
  about:
    'What comes out is byte for byte what one writer would have written of all documents: for parts that several machines have made ' +
    '(millrace tokenize --part); that none of them is missing is checked. Other files come in the order in which they are named, those of a pattern by name.',
  args: [FILES],
  options: {
    out: { type: 'text', value: 'PATH', about: 'the new file (needed); its ending may be left out' },
    ...OVERWRITE,
    ...FILE_OPTIONS,
  },
  examples: [
    [
      "millrace tokens merge 'corpus-*-of-00004.bin' --out corpus",
      'four parts become corpus.bin and corpus.idx',
    ],
  ],
  async run({ args, values }) {
    const { out, overwrite } = values
    if (out === undefined) throw new UsageError('millrace tokens merge needs --out PATH')
    const { mergeTokens } = await import('../../../../llm/prepare/tokens/merge.js')
    return writing('joining', out, async (context, notice) => {
      const files = await openFiles(args, values, notice)
      return [await mergeTokens(files, out, { overwrite, context })]
    })
  },
})
