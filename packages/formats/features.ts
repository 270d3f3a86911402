/** What Hugging Face's datasets say of columns: in the metadata of Arrow's schema or of Parquet's footer, and in dataset_info.json. Only names of classes matter here. */

/** The names of the classes of each column that has them, by its path. */
export function classNames(metadata: Readonly<Record<string, string>>): Record<string, string[]> {
  const text = Object.hasOwn(metadata, 'huggingface') ? metadata.huggingface : undefined
  if (text === undefined || text === '') return {}
  try {
    return classesIn((JSON.parse(text) as { info?: { features?: unknown } })?.info?.features)
  } catch {
    return {} // no JSON: other programs may use the name
  }
}

/** The same out of `features`. */
export function classesIn(features: unknown): Record<string, string[]> {
  const found: Record<string, string[]> = {}
  const add = (feature: unknown, name: string, depth: number): void => {
    if (typeof feature !== 'object' || feature === null || depth > 16) return
    const { _type: type, names } = feature as { _type?: unknown; names?: unknown }
    if (type === 'ClassLabel') {
      if (Array.isArray(names) && names.every(one => typeof one === 'string')) found[name] = names
      return
    }
    if (typeof type === 'string') return
    for (const [key, inner] of Object.entries(feature))
      add(inner, name === '' ? key : `${name}.${key}`, depth + 1)
  }
  add(features, '', 0)
  return found
}

/** Names of classes that are told, at most. */
const TOLD = 8

/** A column's type for `inspect`, with the names of its classes. */
export function typeWithClasses(
  type: string,
  name: string,
  classes: Readonly<Record<string, readonly string[]>>,
): string {
  if (!Object.hasOwn(classes, name)) return type
  const names = classes[name]
  const more = names.length > TOLD ? ', …' : ''
  return `${type}, ${names.length} classes: ${names.slice(0, TOLD).join(', ')}${more}`
}
