/** The process of cached.ts: makes some batches twice, and prints the samples/s of the second time. */
import { open } from '../../core/deliver/node/open.js'
import { loadRegistry } from '../../core/system/node/registry.js'
import { BATCHES, type CachedTask } from './cached.js'

await loadRegistry()
const parts: Buffer[] = []
for await (const part of process.stdin) parts.push(part)
const { json, options, state } = JSON.parse(Buffer.concat(parts).toString('utf8')) as CachedTask
const loader = open(json, { ...options, allowCode: true, state, steps: BATCHES, notice: () => {} })
try {
  let rate = 0
  for (let time = 0; time < 2; time++) {
    if (time > 0) loader.load(state)
    let samples = 0
    const begun = performance.now()
    for await (const batch of loader) samples += (batch as { samples: number }).samples
    rate = (1000 * samples) / (performance.now() - begun)
  }
  process.stdout.write(String(rate))
} finally {
  await loader.close()
}
