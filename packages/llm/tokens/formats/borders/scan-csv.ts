/** Borders of documents as OLMo's tools write them: a .csv.gz with a line for each document, `start,end,…`, in tokens. */
import { SourceError } from '../../../../core/basics/errors.js'
import type { IndexTools } from '../../../../core/source/index/of-file.js'
import { scanPacked } from '../../../../formats/packed/scan.js'
import type { BordersBuilder } from './builder.js'
import type { BordersFile } from './contract.js'

/** Bytes of a line at most: behind the two numbers stand an id and a path. */
const MOST_LINE = 1 << 20

export async function scanCsv(data: BordersFile, out: BordersBuilder, tools: IndexTools): Promise<void> {
  const { file, tokens } = data
  const refuse = (problem: string): SourceError =>
    new SourceError(`${file}: line ${line}: ${problem}`, { file })
  let line = 1
  let last = 0
  let rest = ''
  const take = (text: string): void => {
    const [, from, to] = /^(\d{1,15}),(\d{1,15})(?:,|\r?$)/.exec(text) ?? []
    if (from === undefined)
      throw refuse(`"${text.slice(0, 60)}" does not begin with two numbers, start and end: "0,512,…"`)
    const [start, end] = [Number(from), Number(to)]
    if (start < last || end < start)
      throw refuse(
        `a document from token ${start} to ${end}, but the one before it ends at ${last}: documents follow one another`,
      )
    if (end > tokens.tokens)
      throw refuse(
        `a document that ends at token ${end}, but ${tokens.path} has ${tokens.tokens}: they don't belong together`,
      )
    out.add(start, end)
    last = end
  }
  await scanPacked(data, 'gzip', tools, piece => {
    const lines = (rest + Buffer.from(piece.buffer, piece.byteOffset, piece.length).toString('latin1')).split(
      '\n',
    )
    rest = lines.pop() as string
    if (rest.length > MOST_LINE) throw refuse(`it has more than ${MOST_LINE} bytes`)
    for (const text of lines) {
      take(text)
      line++
    }
  })
  if (rest !== '') take(rest)
}
