/** The order of Megatron's BlendedDataset: at each place the source that lags most behind its weight, of several the first. */

export interface BlendIndex {
  /** By position: which source, and which of its samples. */
  sources: Int16Array
  samples: Float64Array
}

export function blendIndex(weights: readonly number[], size: number): BlendIndex {
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const shares = weights.map(weight => weight / total)
  const drawn = new Float64Array(weights.length)
  const sources = new Int16Array(size)
  const samples = new Float64Array(size)
  for (let position = 0; position < size; position++) {
    const place = Math.max(position, 1)
    let most = shares[0] * place - drawn[0]
    let source = 0
    for (let i = 1; i < shares.length; i++) {
      const behind = shares[i] * place - drawn[i]
      if (behind > most) [most, source] = [behind, i]
    }
    sources[position] = source
    samples[position] = drawn[source]++
  }
  return { sources, samples }
}
