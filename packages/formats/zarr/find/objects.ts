/** The objects of a Zarr store, by their paths in it: a folder of any store. */

import { prefixOf } from '../../../core/source/find/names.js'
import { listOf, readWhole, statOf } from '../../../core/store/access.js'
import { codeOf, isMissing, type Stat, type Version } from '../../../core/store/store.js'
import type { Stores } from '../../../core/store/stores.js'

/** An object, and where its bytes lie. */
export interface FoundObject {
  path: string
  bytes: number
  /** Its first byte in the file that holds it. */
  offset: number
  version: Version
}

export interface ZarrObjects {
  /** The folder, or the archive, for messages. */
  readonly root: string
  /** The whole store is one file: this one. */
  readonly archive: boolean
  /** What a path is called outside. */
  nameOf(path: string): string
  /** Undefined where there is no such object. */
  read(path: string, most: number): Promise<Uint8Array | undefined>
  stat(path: string): Promise<FoundObject | undefined>
  /** All objects whose paths begin so; undefined where the store can't say. */
  list(prefix: string): AsyncIterable<FoundObject> | undefined
}

export class FolderObjects implements ZarrObjects {
  readonly archive = false
  private readonly prefix: string

  constructor(
    readonly root: string,
    private readonly stores: Stores,
  ) {
    this.prefix = prefixOf(root)
  }

  nameOf(path: string): string {
    return path === '' ? this.root : this.prefix + path
  }

  read(path: string, most: number): Promise<Uint8Array | undefined> {
    return ifThere(() => readWhole(this.stores, this.nameOf(path), most))
  }

  stat(path: string): Promise<FoundObject | undefined> {
    return ifThere(async () => found(path, await statOf(this.stores, this.nameOf(path))))
  }

  list(prefix: string): AsyncIterable<FoundObject> | undefined {
    return this.stores.of(this.root).list === undefined ? undefined : this.listed(prefix)
  }

  private async *listed(prefix: string): AsyncGenerator<FoundObject> {
    for await (const object of listOf(this.stores, this.prefix + prefix))
      yield found(object.name.slice(this.prefix.length), object)
  }
}

function found(path: string, { bytes, version }: Stat): FoundObject {
  return { path, bytes, offset: 0, version }
}

async function ifThere<T>(look: () => Promise<T>): Promise<T | undefined> {
  try {
    return await look()
  } catch (error) {
    if (isMissing(error) || codeOf(error) === 'ENOTDIR') return undefined
    throw error
  }
}
