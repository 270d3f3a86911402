/** A client that writes where it should not: that is its own loss. The engine lives, and other clients get exact data. */
import { closeSync, openSync, writeSync } from 'node:fs'
import { expect, test } from 'vitest'
import { Client, epoch, FEED, serve, sleep } from '../../../../test/support/protocol-client.js'
import { Random } from '../../basics/random.js'

/** Where the words are that threads go by: in the control page, and in the head of each slot (docs/protocol.md). */
const WORDS = [
  [0, 512],
  [1024, 1112],
  [2048, 4096],
  [8192, 12288],
]

/** A second of a client that writes random bytes over its memory, moves about, and gives slots back that it does not hold. */
async function rage(client: Client, seed: number): Promise<{ written: number }> {
  const random = new Random().key(seed, 0, 0, 0)
  const { memory } = client.opened
  const fds = [memory.path, memory.dataPath].map(path => openSync(path, 'r+'))
  const slots = (memory.bytes - memory.control) / memory.slotBytes
  let written = 0
  const end = performance.now() + 1000
  while (performance.now() < end) {
    const bytes = Buffer.from(Array.from({ length: 64 }, () => random.int(256)))
    const [from, to] = WORDS[random.int(WORDS.length)]
    const at =
      random.next() < 0.5
        ? from + random.int(to - from)
        : client.at(random.int(slots)) + random.int(random.next() < 0.5 ? 256 : memory.slotBytes - 64)
    for (const fd of fds) {
      try {
        writeSync(fd, bytes, 0, bytes.length, at)
        written++
      } catch (error) {
        expect((error as NodeJS.ErrnoException).code).toBe('EPERM')
      }
    }
    if (random.next() < 0.1) client.say({ release: random.int(8) })
    if (random.next() < 0.01) client.say({ move: { epoch: 0, position: 0, limit: null } })
    if (random.next() < 0.05) await sleep(1)
  }
  for (const fd of fds) closeSync(fd)
  return { written }
}

test('random bytes in the memory of one client do nothing to the engine and to others', async () => {
  const { socket, child } = serve()
  const calm = await Client.connect(socket)
  const expected = await calm.open({ workers: 2, depth: 2 }).then(() => epoch(calm))
  calm.end()
  for (const seed of [1, 2, 3]) {
    const other = await Client.connect(socket)
    await other.open({ workers: 2, depth: 2 })
    const wild = await Client.connect(socket)
    await wild.open({ workers: 2, depth: 3 })
    const raging = rage(wild, seed)
    for (let round = 0; round < 3; round++) {
      if (round > 0) await other.ask({ move: { epoch: 0, position: 0, limit: null } })
      expect(await epoch(other)).toEqual(expected)
    }
    expect((await raging).written).toBeGreaterThan(0)
    // Its own ring is whole as well: only fields can be written, and those are made anew.
    expect((await wild.ask({ move: { epoch: 0, position: 0, limit: null } })).error).toBeUndefined()
    expect(await epoch(wild)).toEqual(expected)
    wild.end()
    other.end()
  }
  expect(child.exitCode).toBeNull()
})

test('a picture that was overwritten in the slot is a bad row when it is decoded again', async () => {
  const { socket, child } = serve()
  const client = await Client.connect(socket)
  await client.open({ workers: 1, decode: 'gpu' }, { ...FEED, onError: 'mask' })
  const slot = await client.take(0)
  const [image] = client.opened.layout.fields
  const fd = openSync(client.opened.memory.dataPath, 'r+')
  const at = client.at(slot) + image.at
  // Row 0: more bytes than the row has. Row 1: rubbish in place of the picture.
  writeSync(fd, Buffer.from([0xff, 0xff, 0xff, 0xff]), 0, 4, at + 4)
  writeSync(fd, Buffer.alloc(image.unitBytes - 128, 7), 0, image.unitBytes - 128, at + image.unitBytes + 128)
  closeSync(fd)
  const { redone } = await client.ask({ redo: { slot, field: 'image', rows: [0, 1, 2] } })
  expect(redone.map((one: { ok: boolean }) => one.ok)).toEqual([false, false, true])
  expect(redone[0].message).toMatch(/overwritten/)
  expect(child.exitCode).toBeNull()
  client.end()
})
