/** Arrow's extension type for arrays of one shape: a list of one size, and the shape in the metadata of the field. */

const NAME = 'arrow.fixed_shape_tensor'

/** The shape of each value; undefined where the field is no such array, or its axes are stored in another order. */
export function tensorShape(metadata: Readonly<Record<string, string>>, size: number): number[] | undefined {
  if (metadata['ARROW:extension:name'] !== NAME) return undefined
  try {
    const reported = JSON.parse(metadata['ARROW:extension:metadata']) as {
      shape?: unknown
      permutation?: unknown
    }
    const { shape, permutation = [] } = reported
    if (!Array.isArray(shape) || !Array.isArray(permutation)) return undefined
    const isShape =
      shape.every(n => Number.isInteger(n) && n >= 0) && shape.reduce((a, b) => a * b, 1) === size
    return isShape && permutation.every((axis, i) => axis === i) ? shape : undefined
  } catch {
    return undefined // no JSON: it is a list then
  }
}
