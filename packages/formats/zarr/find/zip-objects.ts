/** The objects of a Zarr store that is a zip archive: ranges of one file. Chunks must be stored as they are, not deflated. */
import { DecodeError, inFile, SourceError } from '../../../core/basics/errors.js'
import { inParallel } from '../../../core/basics/parallel.js'
import { decompressInto } from '../../../core/codec/codec.js'
import { ASKED_AT_ONCE, statOf } from '../../../core/store/access.js'
import type { Version } from '../../../core/store/store.js'
import type { Stores } from '../../../core/store/stores.js'
import { piecesOf, type ReadPiece } from '../../arrays/read-file.js'
import { dataStart, readZip, type ZipMember } from '../../npz/zip.js'
import { isMetadata } from '../meta/metadata.js'
import type { FoundObject, ZarrObjects } from './objects.js'

export class ZipObjects implements ZarrObjects {
  readonly archive = true

  private constructor(
    readonly root: string,
    private readonly pieces: ReadPiece,
    private readonly version: Version,
    private readonly members: ReadonlyMap<string, ZipMember>,
  ) {}

  static async open(root: string, stores: Stores): Promise<ZipObjects> {
    const { bytes, version } = await statOf(stores, root)
    const pieces = piecesOf({ file: root, name: root, bytes, version }, stores)
    return inArchive(root, async () => {
      // zarr-python writes metadata again when it changes: the last one counts.
      const members = await readZip(pieces, bytes, 'last')
      const prefix = topFolder(members)
      const inside = members.filter(({ name }) => name.startsWith(prefix))
      return new ZipObjects(
        root,
        pieces,
        version,
        new Map(inside.map(member => [member.name.slice(prefix.length), member])),
      )
    })
  }

  nameOf(path: string): string {
    return path === '' ? this.root : `${this.root}/${path}`
  }

  async read(path: string, most: number): Promise<Uint8Array | undefined> {
    const member = this.members.get(path)
    if (member === undefined) return undefined
    if (member.size > most)
      throw new SourceError(`${this.nameOf(path)} has ${member.size} bytes, more than ${most}`, {
        file: this.root,
      })
    return inArchive(this.root, async () => {
      const packed = await this.pieces(await dataStart(this.pieces, member), member.packed)
      if (!member.deflated) return packed
      const unpacked = new Uint8Array(member.size)
      return unpacked.subarray(0, decompressInto('deflate', packed, unpacked))
    })
  }

  async stat(path: string): Promise<FoundObject | undefined> {
    const member = this.members.get(path)
    return member && this.found(path, member)
  }

  /** Where a member's bytes begin stands before them: that is read for many members at a time. */
  async *list(prefix: string): AsyncGenerator<FoundObject> {
    const paths = [...this.members.keys()].filter(path => path.startsWith(prefix))
    const most = 16 * ASKED_AT_ONCE
    for (let at = 0; at < paths.length; at += most) {
      const some = paths.slice(at, at + most)
      yield* await inParallel(some, ASKED_AT_ONCE, path =>
        this.found(path, this.members.get(path) as ZipMember),
      )
    }
  }

  private async found(path: string, member: ZipMember): Promise<FoundObject> {
    if (member.deflated && !isMetadata(path))
      throw inFile(
        this.root,
        `: its member "${member.name}" is deflated, so its bytes can't be read where they lie: write the archive without compression (zip -0)`,
        { offset: member.header },
      )
    const offset = await inArchive(this.root, () => dataStart(this.pieces, member))
    return { path, bytes: member.packed, offset, version: this.version }
  }
}

/** What members have before their paths, where a folder was packed as a whole: its name. */
function topFolder(members: readonly ZipMember[]): string {
  if (members.length === 0 || members.some(({ name }) => isMetadata(name) && !name.includes('/'))) return ''
  const folder = members[0].name.slice(0, members[0].name.indexOf('/') + 1)
  return members.every(({ name }) => name.startsWith(folder)) ? folder : ''
}

/** Errors of the archive's directory name the archive. */
async function inArchive<T>(root: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw inFile(root, `: ${error.message}`, { cause: error })
  }
}
