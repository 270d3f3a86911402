/**
 * Lookups: what becomes of each of the 256 values of a byte. Most colour changes are no more than that. Each
 * function fills a table of 256 bytes, in float32 arithmetic where torchvision's is, so that results are the same.
 */
const f32 = Math.fround

/** Clamped to a byte, rounded towards zero. */
function toByte(x: number): number {
  return x <= 0 ? 0 : x >= 255 ? 255 : Math.trunc(x)
}

function fill(table: Uint8Array, value: (x: number) => number): void {
  for (let x = 0; x < 256; x++) table[x] = value(x)
}

export function brightness(table: Uint8Array, factor: number): void {
  fill(table, x => toByte(f32(x * f32(factor))))
}

/** Blends with the mean luminance of the whole picture; `rest` is 1 - factor. */
export function contrast(table: Uint8Array, factor: number, rest: number, mean: number): void {
  const gray = f32(mean) * f32(rest) // exact in a double: torch fuses this product with the sum
  fill(table, x => toByte(f32(f32(x * f32(factor)) + gray)))
}

export function invert(table: Uint8Array): void {
  fill(table, x => 255 - x)
}

/** Keeps the highest `bits` bits. */
export function posterize(table: Uint8Array, bits: number): void {
  const mask = 0xff & ~(0xff >> bits)
  fill(table, x => x & mask)
}

/** Inverts values from the threshold upwards. */
export function solarize(table: Uint8Array, threshold: number): void {
  fill(table, x => (x >= threshold ? 255 - x : x))
}

/** Stretches the values that occur to 0…255; a single value stays. */
export function autocontrast(table: Uint8Array, counts: Uint32Array): void {
  const low = counts.findIndex(count => count > 0)
  const high = counts.findLastIndex(count => count > 0)
  const unit = f32((high - low) * f32(1 / 255))
  fill(table, x => (low === high ? x : toByte(f32((x - low) / unit))))
}

/** Makes the histogram flat, by Pillow's scheme: the highest value that occurs does not count. */
export function equalize(table: Uint8Array, counts: Uint32Array): void {
  const total = counts.reduce((sum, count) => sum + count, 0)
  const last = counts.findLastIndex(count => count > 0)
  const step = Math.floor((total - counts[last]) / 255)
  let below = 0
  for (let x = 0; x < 256; x++) {
    table[x] = step === 0 ? x : Math.min(255, Math.floor((below + (step >> 1)) / step))
    below += counts[x]
  }
}
