/** The engine's side of control: what the last request of a process means, and what is set back. */
import { afterEach, describe, expect, test } from 'vitest'
import { Controller } from '../../../src/diagnose/attach/controller.js'
import type { Asker } from '../../../src/engine/control/asker.js'
import { Control } from '../../../src/engine/control/control.js'

describe.skipIf(process.platform !== 'linux')('control', () => {
  const control = new Control()
  const ring = {
    ...{ id: 7, workers: 1, depth: 4, ring: { capacity: 32 } },
    async setDepth(depth: number) {
      ring.depth = depth
    },
  }
  afterEach(() => control.remove(ring.id))

  /** As if a process had set 3 workers, and died. */
  function begin(mostWorkers: number): Controller {
    Object.assign(ring, { workers: 1, depth: 4 })
    control.add(ring, mostWorkers)
    const before = new Map([[ring.id, { workers: 1, depth: 4 }]])
    const dead: Asker = { pid: 2 ** 30, started: 'long ago', before, rested: false }
    Object.assign(control, { asker: dead })
    ring.workers = 3
    return Controller.open(process.pid, ring.id)
  }

  test('what a process has set is set back when it has ended without a word', async () => {
    begin(8).close()
    await control.look()
    expect(ring.workers).toBe(1)
    expect(control.controlled).toBe(false)
  })

  test('its last word counts, though it has ended before that was read', async () => {
    const controller = begin(8)
    controller.write({}, true)
    await control.look()
    expect(ring.workers).toBe(3)
    expect(control.controlled).toBe(false)
    controller.close()
  })

  test('a rest that has passed is none: without workers, the depth is set back all the same', async () => {
    const controller = begin(0)
    controller.write({ depth: 9, restUntil: 1 }, true)
    await control.look()
    expect(ring.depth).toBe(9)
    controller.close()
  })
})
