/**
 * Which classes a folder of images has, and their numbers. As in torchvision, the classes are the folders right below it,
 * hidden ones too, in the order of their names. A class without a picture is refused: many tools drop an empty folder, and
 * then all classes after it would get other numbers. Where the definition names the classes, it has these and no others, in
 * that order, with pictures or without.
 */
import { nearest, SourceError } from '../../core/basics/errors.js'
import { prefixOf } from '../../core/source/find/names.js'
import { IndexFile } from '../../core/source/index/file.js'
import { isHidden } from '../shared/hidden.js'

/** Names in a message; the rest is counted. */
const MOST_NAMES = 3

/** The top folder of a relative folder path, which ends with a slash. */
export function classOf(folderPath: string): string {
  return folderPath.slice(0, folderPath.indexOf('/'))
}

/** Class folders of an index, sorted byte by byte, and which of them hold a picture. */
export function classFolders(indexPath: string): { names: string[]; used: Set<string> } {
  const index = new IndexFile(indexPath)
  const folders = index.text('folders')
  const all = Array.from({ length: folders.length }, (_, i) => classOf(folders.at(i)))
  const used = new Set([...new Set(index.numbers('folder'))].map(number => all[number]))
  const names = [...new Set(all)].filter(name => name !== '')
  return { names: names.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))), used }
}

/** The classes in the order of their labels. */
export function numberClasses(
  root: string,
  { names, used }: { names: string[]; used: ReadonlySet<string> },
  given: string[] | undefined,
  notice?: (text: string) => void,
  /** The folder whose classes are given, where the definition does not name them. */
  like?: string,
): string[] {
  if (given !== undefined) return checkGiven(root, used, given, notice, like)
  const empty = names.filter(name => !used.has(name))
  if (empty.length > 0) {
    // What tools leave behind, such as an empty ".ipynb_checkpoints", need not become a class.
    const kept = names.filter(name => used.has(name) || !isHidden(name))
    const all = kept.length <= 20 ? `: "classes": ${JSON.stringify(kept)}` : ''
    throw new SourceError(
      `${shown(root, empty)} no picture. An empty class folder is refused, as torchvision's ImageFolder does, since labels ` +
        `would change with it: name the classes in the definition${all}, or remove the folder`,
      { file: `${prefixOf(root)}${empty[0]}` },
    )
  }
  const hidden = names.filter(isHidden)
  if (hidden.length > 0)
    notice?.(
      `${shown(root, hidden)} pictures and ${hidden.length === 1 ? 'is a class' : 'are classes'} though hidden, as in ` +
        "torchvision's ImageFolder",
    )
  return names
}

function checkGiven(
  root: string,
  used: ReadonlySet<string>,
  given: string[],
  notice?: (text: string) => void,
  like?: string,
): string[] {
  const twice = given.find((name, i) => given.indexOf(name) !== i)
  if (twice !== undefined) throw new SourceError(`the class "${twice}" is listed twice in "classes"`)
  for (const name of used) {
    if (given.includes(name)) continue
    const near = nearest(name, given)
    const where = like === undefined ? 'in the definition' : `of ${like}, by which labels are numbered`
    throw new SourceError(
      `${root}/${name} is none of the classes ${where}${near ? ` (did you mean "${near}"?)` : ''}: ` +
        `${like === undefined ? 'add it to "classes"' : 'name all in the definition by "classes": […]'}, or move the folder away`,
      { file: `${prefixOf(root)}${name}` },
    )
  }
  const missing = given.filter(name => !used.has(name))
  if (missing.length > 0)
    notice?.(`${root} has no picture of ${missing.length} of ${given.length} classes: ${listed(missing)}`)
  return given
}

function shown(root: string, names: readonly string[]): string {
  return `${prefixOf(root)}${listed(names)} ${names.length === 1 ? 'holds' : 'hold'}`
}

function listed(names: readonly string[]): string {
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : ''
  return `${names.slice(0, MOST_NAMES).join(', ')}${more}`
}
