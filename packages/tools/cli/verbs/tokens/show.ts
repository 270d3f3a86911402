/** `millrace tokens show`: documents or a row of token files, as text or as numbers. */
import { command, UsageError } from '../../command.js'
import { keptNotices } from '../../progress.js'
import { EOD, FILE_OPTIONS, FILES, openFiles } from './files.js'

export const show = command({
  name: 'tokens show',
  summary: 'prints a document or a row of token files, as text or as numbers',
  about:
    'Documents are counted through all files, from 0. A row is what a feed with "pack": "concat" and "phase": 0 gives: --length tokens, and the ' +
    'one behind them. With --tokenizer tokens become text, otherwise numbers are printed.',
  args: [FILES],
  options: {
    document: { type: 'count', about: 'number of the document (0, unless --row is given)' },
    row: { type: 'count', about: 'number of the row' },
    length: { type: 'count', least: 1, about: 'tokens of a row' },
    tokenizer: { type: 'text', value: 'PATH', about: 'tokenizer.json or .tiktoken file, to print text' },
    most: { type: 'count', default: 10_000, about: 'tokens that are printed at most' },
    ...EOD,
    ...FILE_OPTIONS,
  },
  examples: [
    ['millrace tokens show corpus --document 7 --tokenizer tokenizer.json', 'the eighth document as text'],
    ['millrace tokens show train.bin --row 100 --length 1024', 'a row of nanoGPT’s file, as numbers'],
  ],
  async run({ args, values }) {
    const { document, row, length, most } = values
    if (document !== undefined && row !== undefined)
      throw new UsageError('--document or --row: give one of them')
    if ((row === undefined) !== (length === undefined))
      throw new UsageError('--row N and --length N go together')
    const [{ documentTokens, rowTokens }, { openTokenizer, attachTokenizer }] = await Promise.all([
      import('../../../../llm/prepare/tokens/show.js'),
      import('../../../../llm/tokenize/open.js'),
    ])
    const { notices, onNotice } = keptNotices()
    const opened =
      values.tokenizer === undefined
        ? undefined
        : await openTokenizer(values.tokenizer, process.cwd(), onNotice)
    const files = await openFiles(args, values, onNotice)
    const context = { root: process.cwd(), wanted: [], notice: onNotice }
    const found =
      row === undefined
        ? await documentTokens(files, document ?? 0, values.eod ?? opened?.eod, most, context)
        : await rowTokens(files, row, length as number, most)
    const text = opened && Buffer.from(attachTokenizer(opened).decode(found.tokens)).toString()
    const left = found.length - found.tokens.length
    const more = left > 0 ? `\n… and ${left} more tokens (--most)` : ''
    return {
      json: { ...found, tokens: [...found.tokens], ...(text !== undefined && { text }), notices },
      text: `${found.where}\n\n${text ?? found.tokens.join(' ')}${more}`,
    }
  },
})
