/** Arithmetic of chunks: how many there are along each axis, and which number each has, the last axis first. */

/** Chunks, or shards, along each axis. */
export function gridOf(shape: ArrayLike<number>, chunk: readonly number[]): number[] {
  return chunk.map((side, axis) => Math.ceil(shape[axis] / side))
}

export function cells(grid: readonly number[]): number {
  return grid.reduce((product, side) => product * side, 1)
}

/** The number of a place in a grid, in C order. */
export function numberAt(grid: readonly number[], place: readonly number[]): number {
  let number = 0
  for (let axis = 0; axis < grid.length; axis++) number = number * grid[axis] + place[axis]
  return number
}

/** The place of a number. */
export function placeAt(grid: readonly number[], number: number): number[] {
  const place = new Array<number>(grid.length)
  let rest = number
  for (let axis = grid.length - 1; axis >= 0; axis--) {
    place[axis] = rest % grid[axis]
    rest = Math.floor(rest / grid[axis])
  }
  return place
}
