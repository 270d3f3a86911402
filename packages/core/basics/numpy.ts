/** Sums as numpy makes them, bit for bit: in another order than one after the other, so that rounding errors stay small. */

/** Numbers up to which numpy sums in eight lanes; more are halved first. */
const LANES_UP_TO = 128

/** What `numpy.sum` gives for float64 numbers `from` to `from + count` − 1. */
function numpySum(numbers: ArrayLike<number>, from = 0, count = numbers.length): number {
  if (count < 8) {
    let sum = 0
    for (let i = from; i < from + count; i++) sum += numbers[i]
    return sum
  }
  if (count > LANES_UP_TO) {
    const half = Math.floor(count / 16) * 8
    return numpySum(numbers, from, half) + numpySum(numbers, from + half, count - half)
  }
  const lanes = Array.from({ length: 8 }, (_, lane) => numbers[from + lane])
  const whole = count - (count % 8)
  for (let i = 8; i < whole; i += 8)
    for (let lane = 0; lane < 8; lane++) lanes[lane] += numbers[from + i + lane]
  const [a, b, c, d, e, f, g, h] = lanes
  let sum = a + b + (c + d) + (e + f + (g + h))
  for (let i = whole; i < count; i++) sum += numbers[from + i]
  return sum
}

/** Numbers as shares of their sum, as Megatron's `normalize` gives them. */
export function normalized(numbers: readonly number[]): number[] {
  const sum = numpySum(numbers)
  return numbers.map(number => number / sum)
}
