/**
 * How much the kernel reads ahead on the device of a file. It cuts longer hints (POSIX_FADV_WILLNEED) to this length, so
 * hints are given in pieces of it.
 */
import { readFileSync } from 'node:fs'

/** Linux's default, in bytes: for devices that don't say. */
const USUAL = 128 << 10

const known = new Map<number, number>()

/** Bytes; `device` is `dev` of a file's stats. Each device is asked once. */
export function readAhead(device: number): number {
  let bytes = known.get(device)
  if (bytes === undefined) {
    bytes = ask(device)
    known.set(device, bytes)
  }
  return bytes
}

function ask(device: number): number {
  const id = deviceId(device)
  // The last is for a partition: its disk stands above it.
  const places = [
    `/sys/class/bdi/${id}/read_ahead_kb`,
    `/sys/dev/block/${id}/queue/read_ahead_kb`,
    `/sys/dev/block/${id}/../queue/read_ahead_kb`,
  ]
  for (const place of places) {
    try {
      const kib = Number(readFileSync(place, 'latin1'))
      if (kib > 0) return kib << 10
    } catch {
      // Not there: the next place.
    }
  }
  return USUAL
}

/** `major:minor`, as Linux packs them into one number: 12 and 20 bits in its lower half, the rest above. */
function deviceId(device: number): string {
  const number = BigInt(device)
  const major = ((number >> 8n) & 0xfffn) | ((number >> 32n) & 0xfffff000n)
  const minor = (number & 0xffn) | ((number >> 12n) & 0xffffff00n)
  return `${major}:${minor}`
}
