/**
 * Which arrays a store has. Consolidated metadata names all of them in one object; without it, arrays that are named are
 * looked up one by one, and all of them are found by a listing.
 */
import { inFile, type SourceError } from '../../../core/basics/errors.js'
import { inParallel } from '../../../core/basics/parallel.js'
import { ASKED_AT_ONCE } from '../../../core/store/access.js'
import type { ArrayMeta } from '../meta/array-meta.js'
import { isInside, type Json, MOST_METADATA, parseMetadata, readArray } from '../meta/metadata.js'
import type { FoundObject, ZarrObjects } from './objects.js'

/** Objects of a listing that are kept for a second use; of more, it is made again. */
const MOST_KEPT = 262144

interface Node {
  json: Json
  /** Where it stands. */
  file: string
}

export class Hierarchy {
  /** All objects, where they had to be listed and are not too many. */
  listing: readonly FoundObject[] | undefined

  private constructor(
    readonly objects: ZarrObjects,
    readonly version: 2 | 3,
    private readonly nodes: Map<string, Node>,
    /** Whether `nodes` are all there are. */
    private complete: boolean,
  ) {}

  static async open(objects: ZarrObjects): Promise<Hierarchy> {
    const at = async (path: string): Promise<Node | undefined> => readNode(objects, path)
    const root = await at('zarr.json')
    if (root !== undefined) return Hierarchy.ofV3(objects, root)
    const consolidated = await at('.zmetadata')
    if (consolidated !== undefined) return new Hierarchy(objects, 2, consolidatedV2(consolidated), true)
    const array = await at('.zarray')
    if (array !== undefined) return new Hierarchy(objects, 2, new Map([['', array]]), true)
    if ((await at('.zgroup')) !== undefined) return new Hierarchy(objects, 2, new Map(), false)
    throw inFile(
      objects.root,
      'holds no Zarr array and no group: it has neither zarr.json nor .zgroup, .zarray or .zmetadata; check the path',
    )
  }

  private static ofV3(objects: ZarrObjects, root: Node): Hierarchy {
    if (root.json.node_type === 'array') return new Hierarchy(objects, 3, new Map([['', root]]), true)
    if (root.json.node_type !== 'group' || root.json.zarr_format !== 3)
      throw inFile(root.file, 'is no metadata of a Zarr group or array: copy or write it again')
    const { metadata } = (root.json.consolidated_metadata ?? {}) as { metadata?: unknown }
    if (metadata === undefined || metadata === null) return new Hierarchy(objects, 3, new Map(), false)
    const nodes = new Map<string, Node>()
    for (const [path, json] of entriesOf(metadata, root.file))
      if (json.node_type === 'array') nodes.set(path, { json, file: root.file })
    return new Hierarchy(objects, 3, nodes, true)
  }

  /** The metadata of an array; undefined where there is no such array. */
  async array(path: string): Promise<ArrayMeta | undefined> {
    let node = this.nodes.get(path)
    if (node === undefined && !this.complete) {
      const name = this.version === 2 ? '.zarray' : 'zarr.json'
      node = await readNode(this.objects, path === '' ? name : `${path}/${name}`)
      if (this.version === 3 && node?.json.node_type !== 'array') node = undefined
    }
    return node && readArray(node.json, this.version, node.file, path)
  }

  /** The names of an array's axes, as far as its metadata has some: a list of texts, if all is well. */
  async axes(path: string): Promise<unknown> {
    if (this.version === 3) return this.nodes.get(path)?.json.dimension_names
    return (await readNode(this.objects, path === '' ? '.zattrs' : `${path}/.zattrs`))?.json._ARRAY_DIMENSIONS
  }

  /** The paths of all arrays, sorted. */
  async paths(): Promise<string[]> {
    if (!this.complete) await this.discover()
    return [...this.nodes.keys()].sort((a, b) => (a < b ? -1 : 1))
  }

  private async discover(): Promise<void> {
    const { objects, version } = this
    const listed = objects.list('')
    if (listed === undefined)
      throw inFile(
        objects.root,
        `: its store can't list its objects, and it has no consolidated metadata: name its arrays (arrays: ["x"]), ` +
          'or consolidate it (zarr.consolidate_metadata in Python)',
      )
    const suffix = version === 2 ? '/.zarray' : '/zarr.json'
    const kept: FoundObject[] = []
    const found: string[] = []
    let count = 0
    for await (const object of listed) {
      if (object.path.endsWith(suffix)) found.push(object.path.slice(0, -suffix.length))
      if (count++ < MOST_KEPT) kept.push(object)
    }
    const read = await inParallel(found, ASKED_AT_ONCE, path => readNode(objects, path + suffix))
    read.forEach((node, i) => {
      if (node !== undefined && (version === 2 || node.json.node_type === 'array'))
        this.nodes.set(found[i], node)
    })
    this.complete = true
    if (count <= MOST_KEPT) this.listing = kept
  }
}

async function readNode(objects: ZarrObjects, path: string): Promise<Node | undefined> {
  const bytes = await objects.read(path, MOST_METADATA)
  const file = objects.nameOf(path)
  return bytes && { json: parseMetadata(file, bytes), file }
}

/** `{ "metadata": { "x/.zarray": {…}, "x/.zattrs": {…} } }` */
function consolidatedV2({ json, file }: Node): Map<string, Node> {
  const nodes = new Map<string, Node>()
  for (const [path, inner] of entriesOf(json.metadata, file)) {
    if (path === '.zarray') nodes.set('', { json: inner, file })
    else if (path.endsWith('/.zarray')) nodes.set(path.slice(0, -'/.zarray'.length), { json: inner, file })
  }
  return nodes
}

/** Paths and metadata, all of them objects, and inside of the store. */
function entriesOf(metadata: unknown, file: string): [string, Json][] {
  const wrong = (what: string): SourceError =>
    inFile(file, `: its consolidated metadata ${what}: consolidate it again`)
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata))
    throw wrong('is no object')
  const entries = Object.entries(metadata)
  for (const [path, json] of entries) {
    if (!isInside(path)) throw wrong(`names "${path}", which leads out of the store`)
    if (typeof json !== 'object' || json === null) throw wrong(`has no object for "${path}"`)
  }
  return entries as [string, Json][]
}
