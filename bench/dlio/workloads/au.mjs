/**
 * Accelerator utilisation, by both definitions. An epoch of a rank is a block, as in DLIO (utils/statscounter.py):
 *
 *   dlio      Σ measured compute of steps 1, 2, …  /  (time of the block − wait and compute of step 0)
 *   nominal   (steps − 1) × given compute time     /  the same: by the rules. A system sleeps a little longer than told.
 *
 * The mean over epochs is taken for each rank, then over ranks. An epoch of one step says nothing, and is left out.
 */
/** Of all ranks. NaN: no epoch has two steps. */
export function utilisation(ranks, computeMs) {
  const each = ranks.map(steps => blocks(steps).map(block => ofBlock(block, computeMs)))
  const over = of => mean(each.map(epochs => mean(epochs.map(of))))
  return { dlio: over(au => au.dlio), nominal: over(au => au.nominal) }
}
/** Steps of a rank by epochs, those of one step left out. */
function blocks(steps) {
  const byEpoch = new Map()
  for (const step of steps) {
    const block = byEpoch.get(step.epoch)
    if (block) block.push(step)
    else byEpoch.set(step.epoch, [step])
  }
  return [...byEpoch.values()].filter(block => block.length > 1)
}
function ofBlock(block, computeMs) {
  const [first, ...rest] = block
  const wall = block[block.length - 1].done - first.asked - (first.done - first.asked)
  const compute = rest.reduce((sum, step) => sum + step.compute, 0)
  return { dlio: compute / wall, nominal: (rest.length * computeMs) / wall }
}
function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
