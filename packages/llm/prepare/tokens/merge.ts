/** Joins token files of one format: what comes out is what one writer would have written of all their documents. */
import { SourceError } from '../../../core/basics/errors.js'
import type { TokenFile } from '../../tokens/formats/token-file.js'
import { type Converted, type ConvertOptions, convertTokens } from './convert.js'

export async function mergeTokens(
  files: readonly TokenFile[],
  out: string,
  options: Pick<ConvertOptions, 'overwrite' | 'context'>,
): Promise<Converted> {
  const [{ format, dtype, path }] = files
  const other = files.find(file => file.format !== format || file.dtype !== dtype)
  if (other !== undefined) {
    throw new SourceError(
      `${other.path} is ${other.format} of ${other.dtype}, but ${path} is ${format} of ${dtype}: files that are joined are alike. ` +
        'millrace tokens convert makes one of them like the other, or one file of all',
      { file: other.path },
    )
  }
  if (format === 'olmo') {
    throw new SourceError(
      `${path}: OLMo's files are not written here: millrace tokens convert makes another format of them`,
      { file: path },
    )
  }
  return convertTokens(partsInOrder(files), out, { ...options, format, dtype })
}

/** `corpus-00002-of-00004`: the second of four parts. */
const PART = /^(.*)-(\d+)-of-(\d+)$/

/** Parts of one job by their numbers, all of them; other files as they were named. */
function partsInOrder(files: readonly TokenFile[]): readonly TokenFile[] {
  const parts = files.map(file => ({ file, part: PART.exec(file.name) }))
  const [first] = parts
  const ofOneJob = parts.every(({ part }) => part?.[1] === first.part?.[1] && part?.[3] === first.part?.[3])
  if (first.part === null || !ofOneJob) return files
  const [, stem, , of] = first.part
  const numbered = parts.map(({ file, part }) => ({ file, number: Number(part?.[2]) }))
  numbered.sort((a, b) => a.number - b.number)
  const from = numbered[0].number === 0 ? 0 : 1
  const missing = Array.from({ length: Number(of) }, (_, i) => from + i).find(
    (number, i) => numbered[i]?.number !== number,
  )
  if (missing !== undefined || numbered.length !== Number(of)) {
    const problem =
      missing === undefined
        ? 'there are too many of them'
        : `number ${missing} is missing, or another is there twice`
    throw new SourceError(
      `of the ${Number(of)} parts of ${stem}, ${problem}: all parts of a job are joined together`,
      { file: first.file.path },
    )
  }
  return numbered.map(({ file }) => file)
}
