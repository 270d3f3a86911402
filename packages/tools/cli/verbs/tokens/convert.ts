/** `millrace tokens convert`: token files of one format become a file of another. */
import { WRITTEN_FORMATS } from '../../../../llm/prepare/tokens/write/writer.js'
import { TOKEN_DTYPES } from '../../../../llm/tokens/formats/token-file.js'
import { command, UsageError } from '../../command.js'
import { EOD, FILE_OPTIONS, FILES, OVERWRITE, oneOf, openFiles } from './files.js'
import { writing } from './written.js'

export const convert = command({
  name: 'tokens convert',
  summary: 'makes a token file of another format or type',
  about:
    'Documents stay as they are. Where one of the formats marks them by a token (nanogpt, llmc, npy), --eod names it: it stands at the end of ' +
    'documents, in llm.c’s files at the start, and is moved or added on the way. Several files become one.',
  args: [FILES],
  options: {
    to: { type: 'text', value: 'FORMAT', about: `the new format (needed): ${WRITTEN_FORMATS.join(', ')}` },
    out: { type: 'text', value: 'PATH', about: 'the new file (needed); its ending may be left out' },
    'to-dtype': {
      type: 'text',
      value: 'TYPE',
      about: 'type of the new tokens (that of the files, or what holds them; nanogpt: u16)',
    },
    vocabulary: { type: 'count', least: 1, about: 'tokens from it on are refused; it decides the type, too' },
    ...OVERWRITE,
    ...EOD,
    ...FILE_OPTIONS,
  },
  examples: [
    [
      'millrace tokens convert train.bin --to megatron --eod 50256 --out corpus',
      "nanoGPT's file for Megatron: corpus.bin and corpus.idx",
    ],
    ['millrace tokens convert corpus --to llmc --eod 50256 --out train', 'and for llm.c'],
  ],
  async run({ args, values }) {
    const { to, out } = values
    if (to === undefined) throw new UsageError('millrace tokens convert needs --to FORMAT')
    if (out === undefined) throw new UsageError('millrace tokens convert needs --out PATH')
    const format = oneOf('to', to, WRITTEN_FORMATS) as (typeof WRITTEN_FORMATS)[number]
    const dtype = oneOf('to-dtype', values['to-dtype'], TOKEN_DTYPES)
    const { convertTokens } = await import('../../../../llm/prepare/tokens/convert.js')
    const { vocabulary, eod, overwrite } = values
    return writing('converting', out, async (context, notice) => {
      const files = await openFiles(args, values, notice)
      return [await convertTokens(files, out, { format, dtype, vocabulary, eod, overwrite, context })]
    })
  },
})
