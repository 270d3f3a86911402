// Copies rectangles of bytes. (A typed array over shared memory copies several times slower.)

export function copyRows(
  from: usize, fromStride: usize, to: usize, toStride: usize, bytes: usize, height: i32,
): void {
  for (let y = 0; y < height; y++, from += fromStride, to += toStride) memory.copy(to, from, bytes)
}
