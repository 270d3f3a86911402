/** The workers of a feed in this process: the sampler tells them from the rest. */
import { expect, test } from 'vitest'
import { type AnyLoader, using } from '../../../../test/support/engine.js'
import { HostSampler } from '../../host/sampler.js'

const PICTURES = {
  source: { synthetic: { count: 192, images: { width: 640, height: 480 } } },
  fields: { image: { from: 'jpg', as: 'image', apply: [{ resize: [64, 64] }] } },
  batch: { size: 8, last: 'keep' },
} as const

test.runIf(process.platform === 'linux')('work of a feed’s workers is the engine’s', async () => {
  await using(PICTURES as never, { workers: 2, epochs: 1 }, async (loader: AnyLoader) => {
    const host = new HostSampler({ gpu: false })
    const before = host.look()
    for await (const _ of loader);
    const { engineCores, seconds } = host.between(before, host.look())
    host.close()
    expect(engineCores * seconds).toBeGreaterThan(0.02) // 192 pictures take some 100 ms of CPU time
  })
})
