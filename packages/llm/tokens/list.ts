/**
 * Lists of token files, as blendcorpus has them: one file a line, `<weight> <prefix> <corpus>`. Blank lines are skipped, and so is what
 * stands behind a `#`. Prefixes are relative to the list.
 */
import { basename } from 'node:path'
import { SourceError } from '../../core/basics/errors.js'
import { folderOf, resolveFolder, resolveName } from '../../core/source/find/names.js'
import type { ListedFile } from '../../core/source/source.js'
import { Stores } from '../../core/store/stores.js'
import { boundName, leadsOut } from '../../formats/shared/within.js'
import { fault, type ListText, listText, textLines } from '../../formats/text-lines.js'

export async function readTokenList(list: string, root: string, folder?: string): Promise<ListedFile[]> {
  using stores = new Stores()
  const text = await listText(stores, resolveName(root, list))
  return parseTokenList(text, folder === undefined ? undefined : resolveFolder(root, folder))
}

export function parseTokenList(list: ListText, root?: string): ListedFile[] {
  const bounds = { folder: folderOf(list.name), root }
  const outside: ListedFile[] = []
  const files: (ListedFile & { written: string })[] = []
  for (const { line, text } of textLines(list)) {
    const fields = text.trim().split(/\s+/)
    const comment = fields.findIndex(field => field.startsWith('#'))
    const [weight, written, corpus, ...more] = comment < 0 ? fields : fields.slice(0, comment)
    if (weight === undefined || weight === '') continue
    if (corpus === undefined || more.length > 0)
      throw fault(list.name, line, columnsWrong(weight, written, more))
    const { file: prefix, inside } = boundName(written, bounds)
    const file = {
      line,
      weight: weightOf(weight, list.name, line),
      prefix,
      corpus,
      name: basename(written),
      written,
    }
    files.push(file)
    if (!inside) outside.push(file)
  }
  if (outside.length > 0)
    throw leadsOut(
      `${list.name}, line ${outside[0].line}: ${outside[0].prefix}`,
      outside.map(({ prefix }) => prefix),
      bounds,
    )
  if (files.length === 0)
    throw new SourceError(`${list.name} names no file: its lines are "<weight> <prefix> <corpus>"`, {
      file: list.name,
    })
  if (files.every(({ weight }) => weight === 0))
    throw new SourceError(`${list.name}: at least one weight must be above 0`, { file: list.name })
  return files.map(({ written, ...file }) => ({
    ...file,
    name: nameOf({ ...file, written }, files, list.name),
  }))
}

function columnsWrong(weight: string, written: string | undefined, more: readonly string[]): string {
  const expected = 'expected "<weight> <prefix> <corpus>"'
  if (more.length > 0)
    return `${expected}, found ${more.length + 3} columns: names can't have spaces, and a comment begins with #`
  if (written === undefined) return `${expected}, found only "${short(weight)}"`
  return `${expected}, found only a weight and a prefix: add the name of the corpus, which may be the same for all lines`
}

function weightOf(text: string, file: string, line: number): number {
  const weight = Number(text)
  if (/^[+.\d]/.test(text) && weight >= 0 && weight < Infinity) return weight
  throw fault(file, line, `the weight "${short(text)}" is no number from 0`)
}

const short = (text: string): string => (text.length > 40 ? `${text.slice(0, 40)}…` : text)

type Written = ListedFile & { written: string }

/** The file's name in its corpus. One that is there twice is a mistake: it would have two weights. */
function nameOf(
  { corpus, prefix, line, name, written }: Written,
  files: readonly Written[],
  list: string,
): string {
  const others = files.filter(other => other.corpus === corpus && other.line !== line && other.name === name)
  const same = others.find(other => other.prefix === prefix && other.line < line)
  if (same !== undefined)
    throw fault(
      list,
      line,
      `"${written}" of corpus "${corpus}" is in line ${same.line} already: keep one, with the sum of the weights`,
    )
  return others.length === 0 ? name : written
}
