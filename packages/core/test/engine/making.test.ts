/** Who makes each field is said in the job, once; the definition knows nothing of it. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { jpeg } from '../../../../test/support/pictures.js'
import { tarFile } from '../../../../test/support/tar.js'
import { normalizeFeed } from '../../define/normalize.js'
import type { NormalFeed } from '../../define/types.js'
import { fieldsForDevice, type MakingOptions, planMaking } from '../../engine/plan/making.js'
import { planFeed } from '../../engine/plan/plan.js'

const folder = temporaryFolder()
const entries = Array.from({ length: 4 }, (_, i) => [
  { name: `s${i}.jpg`, data: jpeg(i, 40, 40) },
  { name: `s${i}.zz`, data: new Uint8Array(8) },
])
writeFileSync(join(folder, 'a.tar'), tarFile(entries.flat()))

const feed = normalizeFeed(
  {
    source: { tar: 'a.tar' },
    fields: {
      image: { from: 'jpg', as: 'image', apply: [{ resize: [32, 24] }] },
      small: { from: 'jpg', as: 'image', scale: 8, shape: [5, 5] },
      gray: { from: 'jpg', as: 'image', channels: 1, apply: [{ resize: [6, 4] }] },
      depth: { from: 'zz', as: 'npy', dtype: 'f32', shape: [64, 64], compression: 'zlib' },
    },
    batch: 2,
  },
  folder,
)

const by = async (options: Partial<MakingOptions>, of: NormalFeed = feed) =>
  planMaking(await planFeed(of), { world: 1, decode: 'gpu', ...options })

const worker = { by: 'worker' }
const picture = { by: 'device', kind: 'picture', cpuShare: 0, samplings: expect.any(Array) }

test.each([
  [{ decode: 'cpu' as const }, [worker, worker, worker, worker]],
  [{ decode: 'cpu' as const, nvcomp: true, cpuShare: 0.5 }, [worker, worker, worker, worker]],
  [{}, [picture, worker, worker, worker]],
  [{ cpuShare: 0.25 }, [{ ...picture, cpuShare: 0.25 }, worker, worker, worker]],
  [{ nvcomp: true }, [picture, worker, worker, { by: 'device', kind: 'compressed' }]],
])('%j', async (options, expected) => {
  const before = structuredClone(feed)
  const { fields, layout } = await by(options)
  expect(fields).toEqual(expected)
  // The layout follows from it: what a worker finishes lies in the slot as the definition says.
  for (const [i, field] of feed.fields.entries()) {
    const { dtype, shape, device } = layout.fields[i]
    if (fields[i].by === 'worker') expect({ dtype, shape }).toEqual(pick(field.layout))
    else expect(pick(device!)).toEqual(pick(field.layout))
    expect(device === undefined).toBe(fields[i].by === 'worker')
  }
  expect(feed).toEqual(before)
})

function pick({ dtype, shape }: { dtype: string; shape: number[] }): object {
  return { dtype, shape }
}

test('channels last: in the slot and on the device, and not in the definition', async () => {
  const cpu = (await by({ decode: 'cpu', channelsLast: true })).layout.fields
  expect(cpu[0]).toMatchObject({ layout: 'hwc', shape: [32, 24, 3] })
  expect(cpu[2]).toMatchObject({ layout: 'hwc', shape: [6, 4, 1] })
  const gpu = (await by({ channelsLast: true })).layout.fields
  expect(gpu[0].device).toMatchObject({ layout: 'hwc', shape: [32, 24, 3] })
  expect(feed.fields[0].layout).toMatchObject({ layout: 'chw', shape: [3, 32, 24] })
})

test('what a device could make is known without asking one', () => {
  expect(fieldsForDevice(feed, 'picture')).toEqual(['image'])
  expect(fieldsForDevice(feed, 'compressed')).toEqual(['depth'])
  expect(fieldsForDevice(feed, 'generated')).toEqual([])
})
