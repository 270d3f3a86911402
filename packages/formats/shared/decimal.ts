/** Decimals, which files keep as an integer and a scale: each becomes the f64 that is nearest to it. */
/** Powers of ten up to this are exact in f64. */
const EXACT_POWER = 22

/** The f64 that is nearest to `unscaled` · 10^−`scale`. */
export function nearestDecimal(unscaled: number | bigint, scale: number): number {
  const number = Number(unscaled)
  // Both are exact, so the one rounding is that of the result.
  if (Number.isSafeInteger(number) && Math.abs(scale) <= EXACT_POWER)
    return scale >= 0 ? number / 10 ** scale : number * 10 ** -scale
  return Number(`${unscaled}e${-scale}`)
}

/** The same of an integer in little-endian, of any length. */
export function decimalAt(bytes: Uint8Array, scale: number): number {
  let value = 0n
  for (let i = bytes.length - 1; i >= 0; i--) value = (value << 8n) | BigInt(bytes[i])
  return nearestDecimal(BigInt.asIntN(8 * bytes.length, value), scale)
}
