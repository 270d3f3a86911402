/**
 * Writes one WebDataset shard: a tar file whose members `KEY.EXT` stand together, sorted by EXT within a sample.
 * The same samples give the same bytes, always: times, owners and modes are fixed.
 *
 *   member = header (512 bytes, ustar) · data · zeros up to a multiple of 512
 *   header = name 100 · mode 8 · uid 8 · gid 8 · size 12 · mtime 12 · checksum 8 · type 1 · link 100
 *            · "ustar\0" "00" · uname 32 · gname 32 · devmajor 8 · devminor 8 · prefix 155 · 12 unused
 *   file   = members · two blocks of zeros
 *
 * A name that ustar can't hold, or a size of 8 GiB and more, stands in a PAX header ("x") before the member.
 */

import type { SourceJson } from '../../../core/define/types.js'
import { Draft } from '../../../core/system/files/draft.js'
import { PAX_KEY } from '../../../formats/tar/header.js'
import { splitName } from '../../../formats/tar/samples.js'

const BLOCK = 512
const MODE = 0o444
const OWNER = 'millrace'
/** 11 octal digits. */
const GREATEST_USTAR_SIZE = 8 * 2 ** 30 - 1
/** Members are gathered into writes of this size; larger ones go out by themselves. */
const BUFFER = 4 << 20

/** What reads such shards. */
export const shardsAt = (paths: string | string[]): SourceJson => ({ tar: paths })

/** The key of the sample that readers find a member in. */
export const foundAs = (member: string): string | undefined => splitName(member)?.key

/** Where a member's data lies in the shard. */
export interface MemberPlace {
  name: string
  offset: number
  size: number
}

export class TarWriter {
  private readonly draft: Draft
  private readonly buffer = new Uint8Array(BUFFER)
  private filled = 0
  samples = 0

  constructor(readonly path: string) {
    this.draft = Draft.open(path)
  }

  /** Bytes of the shard so far. */
  get bytes(): number {
    return this.draft.bytes + this.filled
  }

  /**
   * Adds one sample; says where its members' data lie. `own` is the sample's key, where it is another than the one in
   * its members' names: our index finds it in a PAX header of the first member, other readers pass it over.
   */
  add(key: string, members: Readonly<Record<string, Uint8Array>>, own = key): MemberPlace[] {
    const places: MemberPlace[] = []
    for (const extension of Object.keys(members).sort()) {
      const name = `${key}.${extension}`
      const data = members[extension]
      this.put(memberHeader(name, data.byteLength, own === key || places.length > 0 ? undefined : own))
      places.push({ name, offset: this.bytes, size: data.byteLength })
      this.put(data)
      this.fill(padding(data.byteLength))
    }
    this.samples++
    return places
  }

  /** Ends the shard and gives it its name; returns its size. */
  close(): number {
    this.fill(2 * BLOCK)
    this.flush()
    this.draft.commit()
    return this.draft.bytes
  }

  /** Gives the shard up: nothing of it stays. */
  discard(): void {
    this.draft.discard()
  }

  private put(data: Uint8Array): void {
    if (this.filled + data.byteLength > BUFFER) this.flush()
    if (data.byteLength > BUFFER) {
      this.draft.write(data)
    } else {
      this.buffer.set(data, this.filled)
      this.filled += data.byteLength
    }
  }

  private fill(zeros: number): void {
    if (this.filled + zeros > BUFFER) this.flush()
    this.buffer.fill(0, this.filled, this.filled + zeros)
    this.filled += zeros
  }

  private flush(): void {
    this.draft.write(this.buffer.subarray(0, this.filled))
    this.filled = 0
  }
}

/** Bytes that a member takes in a shard, header and padding included. */
export function memberBytes(name: string, size: number, own?: string): number {
  const plain = own === undefined && size <= GREATEST_USTAR_SIZE && ustarName(name) !== undefined
  return (plain ? BLOCK : memberHeader(name, size, own).byteLength) + size + padding(size)
}

/** Everything that stands before a member's data: its header, and the PAX header where one is needed. */
export function memberHeader(name: string, size: number, own?: string): Uint8Array {
  const place = ustarName(name)
  const records: [string, string][] = []
  if (own !== undefined) records.push([PAX_KEY, own])
  if (place === undefined) records.push(['path', name])
  if (size > GREATEST_USTAR_SIZE) records.push(['size', String(size)])
  const plain = place ?? { prefix: '', name: shortened(name) }
  const main = block(plain, size > GREATEST_USTAR_SIZE ? 0 : size, '0')
  if (records.length === 0) return main
  const pax = Buffer.from(records.map(([key, value]) => paxRecord(key, value)).join(''))
  const extended = block(
    { prefix: '', name: `PaxHeaders/${shortened(name).slice(0, 80)}` },
    pax.byteLength,
    'x',
  )
  return Buffer.concat([extended, pax, new Uint8Array(padding(pax.byteLength)), main])
}

/** ustar's way to hold up to 255 bytes: a prefix of folders and the rest. Undefined where it can't. */
function ustarName(name: string): { prefix: string; name: string } | undefined {
  if (!/^[\x20-\x7e]*$/.test(name)) return undefined // bytes beyond ASCII mean nothing certain in ustar
  if (name.length <= 100) return { prefix: '', name }
  const cut = name.indexOf('/', name.length - 101)
  return cut < 1 || cut > 155 || cut === name.length - 1
    ? undefined
    : { prefix: name.slice(0, cut), name: name.slice(cut + 1) }
}

/** What a reader that knows no PAX would show. */
function shortened(name: string): string {
  return name.replace(/[^\x20-\x7e]/g, '_').slice(-100)
}

/** `LENGTH KEY=VALUE\n`, where LENGTH counts the whole record in bytes, itself included. */
function paxRecord(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`)
  let length = rest + String(rest).length
  if (String(length).length > String(rest).length) length = rest + String(length).length
  return `${length} ${key}=${value}\n`
}

function block(place: { prefix: string; name: string }, size: number, type: '0' | 'x'): Uint8Array {
  const header = Buffer.alloc(BLOCK)
  header.write(place.name, 0, 100, 'latin1')
  octal(header, 100, 8, MODE)
  octal(header, 108, 8, 0)
  octal(header, 116, 8, 0)
  octal(header, 124, 12, size)
  octal(header, 136, 12, 0)
  header.fill(' ', 148, 156) // the checksum is taken with blanks in its place
  header.write(type, 156, 'latin1')
  header.write('ustar\u000000', 257, 'latin1')
  header.write(OWNER, 265, 'latin1')
  header.write(OWNER, 297, 'latin1')
  octal(header, 329, 8, 0)
  octal(header, 337, 8, 0)
  header.write(place.prefix, 345, 155, 'latin1')
  let sum = 0
  for (const byte of header) sum += byte
  header.write(`${sum.toString(8).padStart(6, '0')}\u0000 `, 148, 'latin1')
  return header
}

function octal(header: Buffer, at: number, width: number, value: number): void {
  header.write(value.toString(8).padStart(width - 1, '0'), at, width - 1, 'latin1')
}

function padding(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK
}
