/**
 * `millrace/order`: the shuffle on its own, for those who feed their models by other means.
 *
 * ```ts
 * import { permutation } from 'millrace/order'
 * const order = permutation(1_281_167, { seed: 7, epoch: 3 })
 * order.at(0) // which sample comes first
 * order.inverse(42) // when sample 42 comes
 * ```
 * @module
 */
export { type Permutation, type PermutationKey, permutation } from './permutation.js'
