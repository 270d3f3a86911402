/** What verbs say that have written token files. */

import type { OpenContext } from '../../../../core/source/source.js'
import type { Converted } from '../../../../llm/prepare/tokens/convert.js'
import { onInterrupt } from '../../interrupt.js'
import { keptNotices, Progress } from '../../progress.js'
import { bytes, count, counted, duration } from '../../units.js'

/** Runs work that writes below `out`, with progress; drafts are taken away when it is interrupted. */
export async function writing(
  what: string,
  out: string,
  work: (context: OpenContext, notice: (text: string) => void) => Promise<Converted[]>,
): Promise<{ json: object; text: string }> {
  const [{ sweepDrafts }, { dirname, resolve }, { existsSync }] = await Promise.all([
    import('../../../../core/system/files/draft.js'),
    import('node:path'),
    import('node:fs'),
  ])
  const folder = dirname(resolve(out))
  const { notices, onNotice } = keptNotices()
  const progress = new Progress(what, { unit: 'tokens' })
  const release = onInterrupt(() => existsSync(folder) && sweepDrafts(folder, true))
  const before = performance.now()
  try {
    const context: OpenContext = {
      root: process.cwd(),
      wanted: [],
      notice: onNotice,
      progress: (done, total, reported, unit) =>
        progress.set(done, total, reported === 'converting' ? what : reported, unit),
    }
    const written = await work(context, onNotice)
    progress.end()
    const seconds = (performance.now() - before) / 1000
    const text = [...written.map(reported), `in ${duration(seconds)}`].join('\n')
    return { json: { written, seconds, notices }, text }
  } finally {
    progress.end()
    release()
  }
}

function reported({ files, format, dtype, documents, tokens, bytes: size, marksAdded }: Converted): string {
  const added = marksAdded > 0 ? `, ${count(marksAdded)} of them got the token that marks them` : ''
  const about = documents === undefined ? '' : `${counted(documents, 'document')}${added}, `
  return `${files[0]}: ${format} of ${dtype}, ${about}${counted(tokens, 'token')}, ${bytes(size)}`
}
