/** The names of classes: those of folders that a source is made of, and of columns of tables. */
import type { Manifest } from './source.js'

/** The classes of the folder that a source is, or is part of; undefined where it is made of others, or of several. */
export function folderClasses({ classes, child }: Manifest): string[] | undefined {
  if (child !== undefined) return folderClasses(child as Manifest)
  return Array.isArray(classes) ? classes : undefined
}

/** The classes of the column `label`, as a folder or a table has them; undefined where there are none. */
export function labelClasses({ classes }: Manifest): string[] | undefined {
  return Array.isArray(classes) ? classes : classes?.label
}

/** The classes of folders that feeds of this process have opened, as JSON, by the folder. */
const opened = new Map<string, string>()

/** Says where a feed's folders have other classes than those of a feed before it: then a label means different classes. */
export function tellOfClasses(
  manifests: readonly Manifest[],
  wanted: readonly string[],
  notice?: (text: string) => void,
): void {
  if (!wanted.includes('label') && !wanted.includes('class')) return
  const earlier = [...opened]
  for (const { root, classes } of manifests.flatMap(foldersIn)) {
    const text = JSON.stringify(classes)
    if (opened.get(root) === text) continue
    opened.set(root, text)
    if (earlier.some(([, others]) => others === text)) continue
    const [before, others] = earlier.find(([path]) => path !== root) ?? []
    if (before !== undefined) notice?.(otherClasses(root, classes, before, JSON.parse(others!) as string[]))
  }
}

function foldersIn(manifest: Manifest): { root: string; classes: string[] }[] {
  const { root, classes, child, children } = manifest as Manifest & {
    root?: string
    child?: Manifest
    children?: Manifest[]
  }
  if (Array.isArray(classes)) return [{ root: root as string, classes }]
  return [...(child ? [child] : []), ...(children ?? [])].flatMap(foldersIn)
}

function otherClasses(
  root: string,
  classes: readonly string[],
  before: string,
  others: readonly string[],
): string {
  const label = classes.findIndex((name, i) => i < others.length && name !== others[i])
  return (
    `the classes of ${root} are others than those of ${before}, which this process opened before` +
    `${label < 0 ? '' : `: label ${label} is "${classes[label]}" here and "${others[label]}" there`}. If both are parts of one ` +
    `dataset, number them alike: {"folder": {"path": …, "classes": ${JSON.stringify(before)}}}`
  )
}
