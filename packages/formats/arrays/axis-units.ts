/**
 * Rows along the first axis where some arrays are deflated or in Fortran's order: those of a file are its unit. They are
 * unpacked once, into the cache.
 */
import type { ByteRange, Leaf } from '../../core/source/source.js'
import type { Part } from './array-rows.js'
import { AxisRows } from './axis-rows.js'
import { inflateMember } from './inflate-member.js'
import type { ArraysManifest } from './manifest.js'
import { bytesOfType } from './member.js'

/** Arrays in a unit begin on a cache line. */
const ALIGN = 64

export class AxisUnits extends AxisRows implements Leaf {
  readonly unitStarts: Float64Array

  constructor(manifest: ArraysManifest) {
    super(manifest)
    this.unitStarts = this.runs
  }

  planUnit(unit: number, columns: readonly string[]): ByteRange[] {
    const file = this.units[unit]
    return distinct(this.shared(file, columns)).map(({ member }) => this.arrays.range(file, member))
  }

  unitBytes(unit: number, columns: readonly string[]): number {
    return distinct(this.shared(this.units[unit], columns)).reduce((sum, part) => sum + this.roomOf(part), 0)
  }

  load(
    unit: number,
    pieces: readonly Uint8Array[],
    into: Uint8Array,
    columns: readonly string[],
  ): Uint8Array[] {
    const { arrays } = this
    const file = this.units[unit]
    let at = 0
    return distinct(this.shared(file, columns)).map((part, i) => {
      const { member, type } = part
      const room = into.subarray(
        at,
        at + (arrays.isDeflated(member) ? arrays.deflated(member).size : bytesOfType(type)),
      )
      at += this.roomOf(part)
      if (arrays.isDeflated(member))
        return inflateMember(arrays.range(file, member), pieces[i], room, arrays.deflated(member))
      arrays.check(file, member, pieces[i])
      room.set(pieces[i])
      return room
    })
  }

  private roomOf({ member, type }: Part): number {
    const { arrays } = this
    const bytes = arrays.isDeflated(member) ? arrays.deflated(member).size : bytesOfType(type)
    return Math.ceil(bytes / ALIGN) * ALIGN
  }
}

/** One part of each piece. */
function distinct(parts: readonly Part[]): Part[] {
  return parts.filter((part, i) => parts.findIndex(other => other.piece === part.piece) === i)
}
