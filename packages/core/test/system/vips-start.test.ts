/** Threads that open their first picture at the same moment: libvips itself is not ready for that. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'

const VIPS = new URL('../../../../build/core/system/codecs/vips.js', import.meta.url).href
const PICTURE = fileURLToPath(new URL('../../../../test/golden/images/rgb.png', import.meta.url))
const [PROCESSES, THREADS] = [10, 4]

test('libvips is begun by one thread, and the others wait for it', { timeout: 300_000 }, () => {
  const folder = temporaryFolder()
  writeFileSync(
    join(folder, 'thread.mjs'),
    `import { readFileSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { readVipsHeader } from ${JSON.stringify(VIPS)}
const bytes = readFileSync(${JSON.stringify(PICTURE)})
if (Atomics.sub(workerData, 0, 1) > 1) while (Atomics.load(workerData, 0) > 0);
parentPort.postMessage(readVipsHeader(bytes).width)`,
  )
  writeFileSync(
    join(folder, 'main.mjs'),
    `import { Worker } from 'node:worker_threads'
const waiting = new Int32Array(new SharedArrayBuffer(4)).fill(${THREADS})
const widths = Array.from({ length: ${THREADS} }, () => new Promise((resolve, reject) => {
  const worker = new Worker(new URL('./thread.mjs', import.meta.url), { workerData: waiting })
  worker.on('message', resolve).on('error', reject)
}))
console.log(new Set(await Promise.all(widths)).size)`,
  )
  for (let i = 0; i < PROCESSES; i++) {
    const ended = spawnSync(process.execPath, [join(folder, 'main.mjs')], { encoding: 'utf8' })
    expect(ended.signal ?? ended.stdout, ended.stderr).toBe('1\n')
  }
})
