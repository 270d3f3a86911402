/** Large slots, seen at places that are used once. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { mapped } from '../../../../test/support/maps.js'
import { Places, type Slots } from '../../deliver/node/places.js'
import { createRegion, free, mapOver, newMemory, reserveSync } from '../../system/memory/memory.js'

const BYTES = 5 * 65536
const OFFSET = 65536
const COUNT = 3
/** One of them is used by the look whether pages can be moved. */
const PLACES = 8
let made = 0

/** Slots, and the same memory as makers see it. */
function slots(): {
  name: string
  slots: Slots
  fill(slot: number, value: number): void
  at(slot: number): number
} {
  // A name of its own: V8 may free the memory of an earlier test at any time.
  const name = `test-places-${made++}-`
  const region = createRegion(OFFSET + COUNT * BYTES, name)
  onTestFinished(() => free(region))
  reserveSync(region)
  const memory = newMemory(region.bytes)
  mapOver(memory, region)
  const makers = new Uint8Array(memory.buffer)
  return {
    name,
    slots: { region, offset: OFFSET, count: COUNT, bytes: BYTES },
    fill: (slot, value) => makers.fill(value, OFFSET + slot * BYTES, OFFSET + (slot + 1) * BYTES),
    at: slot => makers[OFFSET + slot * BYTES + 7],
  }
}

const can = (() => {
  const region = createRegion(BYTES)
  reserveSync(region)
  const places = Places.of({ region, offset: 0, count: 1, bytes: BYTES }, PLACES)
  for (const window of places?.windows ?? []) window.close()
  places?.close()
  free(region)
  return places !== undefined
})()

function close(places: Places): void {
  for (const window of places.windows) window.close()
  places.close()
}

const view = ({ windows }: Places, slot: number): Uint8Array =>
  new Uint8Array(windows[slot].buffer, windows[slot].at, BYTES)

const edges = (array: Uint8Array) => [array[0], array[7], array.at(-1)]

describe.runIf(can)('a slot at a place', () => {
  test('shows what makers wrote, then zeros, never its next batch; when all places are used, arrays are empty', () => {
    const { slots: given, fill, at } = slots()
    const places = Places.of(given, PLACES)!
    const old: Uint8Array[] = []
    const buffers = new Set<ArrayBufferLike>()
    for (let batch = 1; batch <= 3 * PLACES; batch++) {
      const slot = batch % COUNT
      fill(slot, batch)
      const array = view(places, slot)
      buffers.add(array.buffer)
      expect(edges(array)).toEqual([batch, batch, batch])
      expect(view(places, slot).byteOffset).toBe(array.byteOffset)
      for (const one of old) expect(one.length === 0 || edges(one).every(value => value === 0)).toBe(true)
      // As many arrays as there are places are the most that are not empty.
      expect(old.filter(one => one.length > 0).length).toBeLessThan(PLACES)
      array[7] = 200
      places.windows[slot].detach()
      expect(at(slot)).toBe(200)
      expect(edges(array)).toEqual([0, 0, 0])
      // What is written to an array that was given back reaches no batch.
      array[7] = 99
      expect(at(slot)).toBe(200)
      array[7] = 0
      old.push(array)
    }
    expect(old[0]).toHaveLength(0)
    // V8 has made a buffer for every 8 batches, not one for each.
    expect(buffers.size).toBe(4)
    close(places)
  })

  test('that is kept stays as it is while others come and go', () => {
    const { slots: given, fill } = slots()
    const places = Places.of(given, PLACES)!
    fill(0, 77)
    const kept = view(places, 0)
    const passed: Uint8Array[] = []
    for (let batch = 1; batch <= 4 * PLACES; batch++) {
      fill(1, batch)
      passed.push(view(places, 1))
      expect(passed.at(-1)![7]).toBe(batch)
      places.windows[1].detach()
      expect(edges(kept)).toEqual([77, 77, 77])
    }
    places.windows[0].detach()
    expect(edges(kept)).toEqual([0, 0, 0])
    // Two memories, in turn: the one with the kept batch waits for it.
    expect(new Set(passed.map(({ buffer }) => buffer)).size).toBeLessThan(7)
    expect(passed[PLACES + 1]).toHaveLength(0)
    close(places)
    expect(kept).toHaveLength(0)
  })

  test('leaves nothing mapped when it is closed, also while it is shown', () => {
    const { name, slots: given, fill } = slots()
    const before = mapped(name)
    const places = Places.of(given, PLACES)!
    fill(2, 5)
    const array = view(places, 2)
    expect(array[7]).toBe(5)
    expect(mapped(name)).toBeGreaterThan(before)
    close(places)
    expect(array).toHaveLength(0)
    expect(mapped(name)).toBe(before)
  })
})

test('slots so large that a memory has few places are not shown so', () => {
  const { name, slots: given } = slots()
  const before = mapped(name)
  expect(Places.of({ ...given, bytes: 2 ** 30 })).toBeUndefined()
  expect(mapped(name)).toBe(before)
})
