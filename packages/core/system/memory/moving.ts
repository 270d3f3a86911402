/**
 * Pages of a shared region that move within this process. A program sees them at an address of V8's for as long as it may;
 * then they are moved away, and what is at that address shows zeros. The tables of pages move along: 128 MiB take some
 * 50 µs, where mapping them anew would cost a fault for every 64 KiB that is read. Linux 5.13 and later.
 */
import { BudgetError } from '../../basics/errors.js'
import { errno, libc, map, unmap } from '../native.js'
import type { SharedRegion } from './memory.js'

/** Whole tables of pages move where both addresses are multiples of this. */
export const GRAIN = 2 ** 21

const PROT_NONE = 0
const PROT_READ_WRITE = 3
const MAP_SHARED = 0x01
const MAP_FIXED = 0x10
/** Private, anonymous, and without a claim to memory before it is used. */
const MAP_BLANK = 0x02 | 0x20 | 0x4000
/** To a given address; what they leave behind stays mapped, so that no other thread's memory can come to lie there. */
const MREMAP_OVER_AND_LEAVE = 1 | 2 | 4

type Mremap = (from: bigint, bytes: number, newBytes: number, flags: number, to: bigint) => bigint
let mremap: Mremap | undefined

export class MovingPages {
  /** Addresses that are kept for the pages while they are not shown, and where in them the pages lie. */
  private readonly kept: bigint
  private readonly home: bigint
  private readonly keptBytes: number
  private shownAt: bigint | undefined

  constructor(
    region: SharedRegion,
    offset: number,
    private readonly bytes: number,
  ) {
    this.keptBytes = bytes + GRAIN
    const kept = map(null, this.keptBytes, PROT_NONE, MAP_BLANK, -1)
    if (kept === undefined) throw refused(bytes)
    this.kept = kept
    this.home = nextGrain(kept)
    if (map(this.home, bytes, PROT_READ_WRITE, MAP_SHARED | MAP_FIXED, region.fd, offset) === undefined) {
      unmap(kept, this.keptBytes)
      throw refused(bytes)
    }
  }

  /** Shows the pages at an address, over what is mapped there. Throws where the system can't move pages. */
  show(at: bigint): void {
    this.move(this.home, at)
    this.shownAt = at
  }

  /** Takes the pages away from where they are shown. Zeros are there from now on. */
  hide(): void {
    const { shownAt, bytes } = this
    if (shownAt === undefined) return
    // First the pages: blank ones over them would cost as much as giving all of them back.
    this.move(shownAt, this.home)
    if (map(shownAt, bytes, PROT_READ_WRITE, MAP_BLANK | MAP_FIXED, -1) === undefined) throw refused(bytes)
    this.shownAt = undefined
  }

  close(): void {
    this.hide()
    unmap(this.kept, this.keptBytes)
  }

  private move(from: bigint, to: bigint): void {
    if (process.platform !== 'linux') throw refused(this.bytes)
    mremap ??= libc.func(
      'void *mremap(void *from, size_t bytes, size_t newBytes, int flags, void *to)',
    ) as Mremap
    const { bytes } = this
    if (BigInt(mremap(from, bytes, bytes, MREMAP_OVER_AND_LEAVE, to)) !== to) throw refused(bytes)
  }
}

export function nextGrain(address: bigint): bigint {
  const grain = BigInt(GRAIN)
  return ((address + grain - 1n) / grain) * grain
}

function refused(bytes: number): BudgetError {
  return new BudgetError(`can't map ${bytes} bytes of shared memory: errno ${errno()}; check \`ulimit -v\``)
}
