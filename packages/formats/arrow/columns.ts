/**
 * The columns that samples have: the fields of the schema, those of structs by their paths, `answer.text`. A struct of bytes
 * and path, as Hugging Face keeps pictures and sound, is also a column by its own name: that of the bytes.
 */
import type { Field, Schema } from './metadata/schema.js'

/**
 *   number  a scalar    bytes, text  as they lie there    array  lists of numbers, of any depth
 *   json    other lists and maps, as JSON                  null   never there
 */
export type ColumnKind = 'number' | 'bytes' | 'text' | 'array' | 'json' | 'null'

/** Plain data: it goes to every thread. */
export interface ArrowColumn {
  name: string
  kind: ColumnKind
  field: Field
  /** Structs that it lies in, the outermost first: where one of them is null, so is the value. */
  within: Field[]
}

/** A field that can't be read, and its type. */
export interface Unreadable {
  name: string
  type: string
}

export function columnsOf({ fields }: Schema): { columns: ArrowColumn[]; unreadable: Unreadable[] } {
  const columns: ArrowColumn[] = []
  const unreadable: Unreadable[] = []
  const add = (field: Field, name: string, within: Field[]): void => {
    if (field.form === 'struct') {
      const inside = [...within, field]
      const picture = pictureBytes(field)
      if (picture !== undefined) columns.push({ name, kind: 'bytes', field: picture, within: inside })
      for (const child of field.children) add(child, `${name}.${child.name}`, inside)
      return
    }
    const kind = kindOf(field)
    if (kind === undefined) unreadable.push({ name, type: field.type })
    else columns.push({ name, kind, field, within })
  }
  for (const field of fields) add(field, field.name, [])
  return { columns: withoutDoubles(columns), unreadable }
}

/** Of two columns with one name, the first is read. */
function withoutDoubles(columns: ArrowColumn[]): ArrowColumn[] {
  const seen = new Set<string>()
  return columns.filter(({ name }) => !seen.has(name) && seen.add(name))
}

/** The bytes of a struct of bytes and path. */
function pictureBytes({ children }: Field): Field | undefined {
  const [bytes, path] = ['bytes', 'path'].map(name => children.find(child => child.name === name))
  return children.length === 2 && bytes?.items === 'bytes' && path?.items === 'text' ? bytes : undefined
}

function kindOf(field: Field): ColumnKind | undefined {
  const { form, items, children, dictionary } = field
  if (dictionary !== undefined) {
    const kind = kindOf(dictionary.values)
    return kind === 'array' || kind === 'json' ? undefined : kind
  }
  switch (form) {
    case 'none':
      return 'null'
    case 'bool':
      return 'number'
    case 'list':
    case 'array':
      if (!isReadable(children[0])) return undefined
      return isNumbers(children[0]) ? 'array' : 'json'
    case 'struct':
    case 'other':
      return undefined
    default:
      return items === 'bytes' || items === 'text' ? items : 'number'
  }
}

/** Whether a field is numbers, or lists of them. */
function isNumbers({ form, items, children, dictionary }: Field): boolean {
  if (form === 'list' || form === 'array') return isNumbers(children[0])
  if (dictionary !== undefined) return false
  return form === 'bool' || (form === 'fixed' && items !== 'bytes')
}

/** Whether it, and all that it holds, can be read. */
function isReadable({ form, children, dictionary, items }: Field): boolean {
  if (dictionary !== undefined || items === 'bytes') return false
  return form !== 'other' && children.every(isReadable)
}

/** The numbers at the bottom of lists, and what leads there, the outermost first. */
export function elementsOf(field: Field): { lists: Field[]; elements: Field } {
  const lists: Field[] = []
  let elements = field
  while (elements.form === 'list' || elements.form === 'array') {
    lists.push(elements)
    elements = elements.children[0]
  }
  return { lists, elements }
}

/** The nodes that are needed for a column: those of the structs around it, its own, and all below. */
export function fieldsFor({ field, within }: ArrowColumn): Field[] {
  const all: Field[] = [...within]
  const add = (field: Field): void => {
    all.push(field)
    field.children.forEach(add)
  }
  add(field)
  return all
}
