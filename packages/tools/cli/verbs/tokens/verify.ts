/** `millrace tokens verify`: reads everything, and names what does not agree. */
import type { Verdict } from '../../../../llm/prepare/tokens/verify/verify.js'
import { command } from '../../command.js'
import { keptNotices, Progress } from '../../progress.js'
import { count, counted, duration } from '../../units.js'
import { EOD, FILE_OPTIONS, FILES, fileOptions } from './files.js'

export const verify = command({
  name: 'tokens verify',
  summary: 'reads token files as a whole and names all that does not agree',
  about:
    'Checks headers and sizes; lengths, pointers and document indices of an .idx; that every token is one of the vocabulary, and that every ' +
    'document ends with --eod (llm.c: begins). Exits with 1 if anything disagrees. An .idx that leaves out the last token of documents, as ' +
    'blendcorpus writes it with --append-eod, is recognised; --repair writes a right one, and keeps the old beside it (.idx.before).',
  args: [FILES],
  options: {
    vocabulary: {
      type: 'count',
      least: 1,
      value: 'N',
      about: 'size of the vocabulary: tokens from it on are bad',
    },
    tokenizer: {
      type: 'text',
      value: 'PATH',
      about: 'says both, the size of the vocabulary and the token that ends documents',
    },
    repair: { type: 'flag', about: 'mend an .idx that does not count the last token of documents' },
    ...EOD,
    ...FILE_OPTIONS,
  },
  examples: [
    ["millrace tokens verify 'corpus-*.bin' --vocabulary 50257 --eod 50256", 'all that can be checked'],
    [
      'millrace tokens verify web_text_document --repair',
      'documents of blendcorpus begin in the right places again',
    ],
  ],
  async run({ args, values }) {
    const [{ verifyTokens }, { tryTokenFiles, openTokenFiles }, { openTokenizer }] = await Promise.all([
      import('../../../../llm/prepare/tokens/verify/verify.js'),
      import('../../../../llm/tokens/formats/open.js'),
      import('../../../../llm/tokenize/open.js'),
    ])
    const { notices, onNotice } = keptNotices()
    const root = process.cwd()
    const opened =
      values.tokenizer === undefined ? undefined : await openTokenizer(values.tokenizer, root, onNotice)
    const options = { ...fileOptions(values), unchecked: true }
    const files = await tryTokenFiles(args, options, { root, notice: onNotice })
    const total = files.reduce((sum, one) => sum + ('file' in one ? one.file.tokens : 0), 0)
    const progress = new Progress('verifying', { unit: 'tokens', total })
    const before = performance.now()
    let done = 0
    const verdicts: (Verdict | { path: string; problems: Verdict['problems'] })[] = []
    for (const one of files) {
      if ('error' in one) {
        verdicts.push({
          path: one.path,
          problems: [{ kind: 'header', count: 1, reported: [one.error.message] }],
        })
        continue
      }
      const verdict = await verifyTokens(one.file, {
        vocabulary: values.vocabulary ?? opened?.size,
        eod: values.eod ?? opened?.eod,
        repair: values.repair,
        context: { root, wanted: [], notice: onNotice },
        reopen: async file => (await openTokenFiles(file.path, fileOptions(values), { root }))[0],
        progress: tokens => progress.set(done + tokens),
      })
      done += one.file.tokens
      verdicts.push(verdict)
    }
    progress.end()
    const bad = verdicts.filter(({ problems }) => problems.length > 0)
    const seconds = (performance.now() - before) / 1000
    return {
      json: { files: verdicts, bad: bad.length, seconds, notices },
      text: [...verdicts.flatMap(lines), summary(verdicts, bad.length, seconds)].join('\n'),
      code: bad.length === 0 ? 0 : 1,
    }
  },
})

type Reported = Partial<Verdict> & Pick<Verdict, 'path' | 'problems'>

function lines({ path, problems, repaired, empty }: Reported): string[] {
  return [
    ...problems.flatMap(({ count: all, reported }) => [
      ...reported.map(text => `bad: ${text}`),
      ...(all > reported.length ? [`     … and ${count(all - reported.length)} more of this kind`] : []),
    ]),
    ...(repaired === undefined
      ? []
      : [
          `repaired: the index of ${path} counts the token at the end of each document now; the old one is ${repaired}`,
        ]),
    ...(empty ? [`${path}: ${counted(empty, 'document')} without a token`] : []),
  ]
}

function summary(files: readonly Reported[], bad: number, seconds: number): string {
  const tokens = files.reduce((sum, one) => sum + (one.tokens ?? 0), 0)
  const documents = files.reduce((sum, one) => sum + (one.documents ?? 0), 0)
  const greatest = Math.max(0, ...files.map(one => one.greatest ?? 0))
  const verdict = bad === 0 ? 'all good' : counted(bad, 'bad file')
  return (
    `${counted(files.length, 'file')}, ${counted(documents, 'document')}, ${counted(tokens, 'token')} ` +
    `(the greatest is ${count(greatest)}): ${verdict}, in ${duration(seconds)}`
  )
}
