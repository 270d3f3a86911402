/**
 * Who decodes images, as one number: how many twentieths of them the CPU decodes; the GPU decodes the others. 20 is the CPU
 * alone, 0 the GPU alone. Python's copy (python/millrace/_generated/) is generated from this file: npm run generate.
 */

/** Parts that images are divided into between CPU and GPU. */
export const SHARES = 20

/** The CPU decodes all of them, or none. */
export const CPU = 20
export const GPU = 0

export type Decoder = 'cpu' | 'gpu' | 'both'

export function decoderOf(twentieths: number): Decoder {
  return twentieths === CPU ? 'cpu' : twentieths === GPU ? 'gpu' : 'both'
}

/** Where images are decoded, in words that follow "on". */
export function decoderPlace(twentieths: number): string {
  const who = decoderOf(twentieths)
  if (who === 'both') return `both, ${(100 * twentieths) / SHARES} % of them on the CPU`
  return who === 'cpu' ? 'the CPU' : 'the GPU'
}

/** The nearest number for a share of 0…1. */
export function twentiethsOf(share: number): number {
  return Math.round(Math.min(1, Math.max(0, share)) * SHARES)
}
