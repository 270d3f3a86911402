/** Tar files for tests, built block by block so that each of them can be wrong in its own way. */

export interface TarEntry {
  name: string
  data?: string | Uint8Array
  /** '0' file, '5' folder, '2' link, 'x' PAX, 'g' global PAX, 'L' GNU long name, … */
  type?: string
  /** Size in the header, where it shall differ from that of the data. */
  size?: number
  /** Size as GNU's base 256. */
  binarySize?: boolean
  prefix?: string
  magic?: string
}

const BLOCK = 512

/** A whole archive: the members and two blocks of zeros, padded as tar does. */
export function tarFile(entries: readonly TarEntry[], { end = 2, pad = true } = {}): Buffer {
  const blocks = entries.map(tarMember)
  blocks.push(Buffer.alloc(end * BLOCK))
  const whole = Buffer.concat(blocks)
  return pad ? Buffer.concat([whole, Buffer.alloc((10240 - (whole.length % 10240)) % 10240)]) : whole
}

/** One member: header, data, padding. */
export function tarMember(entry: TarEntry): Buffer {
  const data = Buffer.from(entry.data ?? '')
  const body = Buffer.alloc(Math.ceil(data.length / BLOCK) * BLOCK)
  body.set(data)
  return Buffer.concat([tarHeader(entry, data.length), body])
}

/** PAX records as a member's data. */
export function paxRecords(values: Record<string, string>): string {
  return Object.entries(values)
    .map(([key, value]) => {
      const rest = ` ${key}=${value}\n`
      let length = Buffer.byteLength(rest)
      while (String(length).length + Buffer.byteLength(rest) !== length) {
        length = String(length).length + Buffer.byteLength(rest)
      }
      return length + rest
    })
    .join('')
}

function tarHeader(entry: TarEntry, bytes: number): Buffer {
  const size = entry.size ?? bytes
  const header = Buffer.alloc(BLOCK)
  header.write(entry.name.slice(0, 100), 0)
  header.write('0000644\0', 100)
  header.write('0000000\0', 108)
  header.write('0000000\0', 116)
  if (entry.binarySize) {
    header[124] = 0x80
    header.writeBigUInt64BE(BigInt(size), 128)
  } else header.write(`${size.toString(8).padStart(11, '0')}\0`, 124)
  header.write('00000000000\0', 136)
  header.write(entry.type ?? '0', 156)
  header.write(entry.magic ?? 'ustar\x0000', 257)
  header.write(entry.prefix ?? '', 345)
  return sealHeader(header)
}

/** Writes the checksum that fits a header. */
export function sealHeader(header: Buffer): Buffer {
  header.fill(0x20, 148, 156)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return header
}
