// Puts one picture in its place: crop, resize, mirror, change dtype and layout, in a single pass over its rows.
//
//   source row ──gather──► ring of rows, as wide as the output ──blend──► row of bytes ──emit──► slot
//
// The ring holds just the rows that the next output row is blended from, so everything between the source and the
// slot stays in the first-level cache. Stages that have nothing to do are left out. Output rows are made in the
// source's order; a vertical flip is only a matter of where they are written.
//
// A job is a block of 32-bit words, written by packages/pixels/transform/place/place.ts, which explains them.
import { blend, lerp } from './rows/blend'
import { floats, look } from './rows/emit'
import { pairs, pick, shuffle, taps } from './rows/gather'

enum Word {
  source, stride, channels, width, height,
  across, acrossTable, acrossTaps, acrossShift,
  down, downTable, downTaps, downShift,
  ring, ringStep, ringRows, plane, scratch, pointers,
  target, targetRow, targetPlane, flip,
  emit, emitTable, entry,
}

enum Across { keep, shuffle, pick, pairs, taps }
enum Down { pick, lerp, blend }
enum Emit { bytes, multiply, divide, look }

@inline
function word(job: usize, index: i32): i32 {
  return load<i32>(job + (<usize>index << 2))
}

export function place(job: usize): void {
  const height = word(job, Word.height)
  const down = word(job, Word.down)
  const table = word(job, Word.downTable)
  const count = word(job, Word.downTaps)
  const across = word(job, Word.across)
  const ringRows = word(job, Word.ringRows)
  const pointers = <usize>word(job, Word.pointers)
  // A row of the table: first source row, number of source rows, `count` 16-bit weights.
  const step = 8 + count * 2
  let gathered = 0
  for (let y = 0; y < height; y++) {
    const entry = <usize>(table + y * step)
    const first = load<i32>(entry)
    const after = first + load<i32>(entry, 4)
    if (across != Across.keep) {
      for (gathered = max(gathered, first); gathered < after; gathered++) {
        gather(job, across, gathered, ringRows)
      }
    }
    if (down == Down.pick) {
      finish(job, y, rowAt(job, across, first, ringRows))
    } else {
      // Taps beyond the last have weight 0: any row will do.
      for (let k = 0; k < count; k++) {
        store<u32>(pointers + (<usize>k << 2), <u32>rowAt(job, across, min(first + k, after - 1), ringRows))
      }
      blendInto(job, y, entry + 8)
    }
  }
}

@inline
function rowAt(job: usize, across: i32, row: i32, ringRows: i32): usize {
  return across == Across.keep
    ? <usize>(word(job, Word.source) + row * word(job, Word.stride))
    : <usize>(word(job, Word.ring) + (row % ringRows) * word(job, Word.ringStep))
}

function gather(job: usize, across: i32, row: i32, ringRows: i32): void {
  const source = <usize>(word(job, Word.source) + row * word(job, Word.stride))
  const target = rowAt(job, across, row, ringRows)
  const channels = word(job, Word.channels)
  const width = word(job, Word.width)
  const table = <usize>word(job, Word.acrossTable)
  const plane = <usize>word(job, Word.plane)
  const groups = (width + 3) >> 2
  if (across == Across.pairs) pairs(source, groups, channels, table, target, plane)
  else if (across == Across.taps) {
    taps(source, groups, channels, table, word(job, Word.acrossTaps), word(job, Word.acrossShift), target, plane)
  } else if (across == Across.shuffle) shuffle(source, groups, table, target, plane)
  else pick(source, width, channels, table, target, plane)
}

@inline
function targetOf(job: usize, y: i32): usize {
  const row = word(job, Word.flip) ? word(job, Word.height) - 1 - y : y
  return <usize>(word(job, Word.target) + row * word(job, Word.targetRow))
}

/** Blends rows straight into the slot when it holds bytes, else into the scratch row and on from there. */
function blendInto(job: usize, y: i32, weights: usize): void {
  const plane = word(job, Word.plane)
  const width = word(job, Word.width)
  if (word(job, Word.emit) != Emit.bytes) {
    const scratch = <usize>word(job, Word.scratch)
    blendPart(job, weights, 0, scratch, plane ? 3 * plane : width * word(job, Word.channels))
    return finish(job, y, scratch)
  }
  const target = targetOf(job, y)
  if (plane == 0) return blendPart(job, weights, 0, target, width * word(job, Word.channels))
  const targetPlane = <usize>word(job, Word.targetPlane)
  blendPart(job, weights, 0, target, width)
  blendPart(job, weights, plane, target + targetPlane, width)
  blendPart(job, weights, 2 * plane, target + 2 * targetPlane, width)
}

/** Blends `length` bytes of the rows at `pointers`, beginning at byte `skip` of each. */
function blendPart(job: usize, weights: usize, skip: usize, target: usize, length: i32): void {
  const rows = <usize>word(job, Word.pointers)
  if (word(job, Word.down) == Down.lerp) {
    lerp(load<u32>(rows) + skip, load<u32>(rows, 4) + skip, load<i16>(weights), target, length)
  } else {
    blend(rows, weights, word(job, Word.downTaps), word(job, Word.downShift), skip, target, length)
  }
}

/** Writes a row of bytes into the slot. */
function finish(job: usize, y: i32, row: usize): void {
  const plane = <usize>word(job, Word.plane)
  const width = word(job, Word.width)
  const target = targetOf(job, y)
  if (plane == 0) return emit(job, row, width * word(job, Word.channels), target, 0)
  const targetPlane = <usize>word(job, Word.targetPlane)
  emit(job, row, width, target, 0)
  emit(job, row + plane, width, target + targetPlane, 1)
  emit(job, row + 2 * plane, width, target + 2 * targetPlane, 2)
}

function emit(job: usize, row: usize, length: i32, target: usize, channel: usize): void {
  const kind = word(job, Word.emit)
  const table = <usize>word(job, Word.emitTable)
  const interleaved = word(job, Word.plane) == 0 && word(job, Word.channels) == 3
  if (kind == Emit.bytes) memory.copy(target, row, length)
  else if (kind == Emit.look) {
    const entry = word(job, Word.entry)
    look(row, length, target, table + channel * 256 * <usize>entry, interleaved, entry)
  } else floats(row, length, target, table, channel, interleaved, kind == Emit.divide)
}
