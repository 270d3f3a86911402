/** A thread that is terminated in the middle of a native call ends alone: the process goes on. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'

const TURBO = new URL('../../../../build/core/system/codecs/turbojpeg.js', import.meta.url).href

test('while it encodes JPEGs', () => {
  const folder = temporaryFolder()
  writeFileSync(
    join(folder, 'thread.mjs'),
    `import { workerData } from 'node:worker_threads'
import { encodeJpeg } from ${JSON.stringify(TURBO)}
const rgb = new Uint8Array(16 * 16 * 3)
encodeJpeg(rgb, 16, 16, 90) // the library is loaded by now: that must not be cut short
Atomics.store(workerData, 0, 1)
Atomics.notify(workerData, 0)
for (;;) encodeJpeg(rgb, 16, 16, 90)`,
  )
  writeFileSync(
    join(folder, 'main.mjs'),
    `import { Worker } from 'node:worker_threads'
for (let i = 0; i < 20; i++) {
  const begun = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(new URL('./thread.mjs', import.meta.url), { workerData: begun })
  await Atomics.waitAsync(begun, 0, 0).value
  await new Promise(resolve => setTimeout(resolve, i))
  await worker.terminate()
}
console.log('ended')`,
  )
  const { stdout, stderr, status } = spawnSync(process.execPath, [join(folder, 'main.mjs')], {
    encoding: 'utf8',
  })
  expect(stdout, stderr).toBe('ended\n')
  expect(status).toBe(0)
})

test('while it makes views of foreign memory, which it is not ended in', () => {
  const folder = temporaryFolder()
  const [door, native] = ['node/unbroken', 'native'].map(name =>
    JSON.stringify(new URL(`../../../../build/core/system/${name}.js`, import.meta.url).href),
  )
  writeFileSync(
    join(folder, 'thread.mjs'),
    `import { workerData } from 'node:worker_threads'
import { unbroken, useTerminationGuard } from ${door}
import { addressOf, koffi } from ${native}
const memory = new ArrayBuffer(64)
const address = addressOf(memory)
useTerminationGuard(workerData.door)
Atomics.store(workerData.begun, 0, 1)
Atomics.notify(workerData.begun, 0)
for (;;) unbroken(() => koffi.view(address, 64))`,
  )
  writeFileSync(
    join(folder, 'main.mjs'),
    `import { Worker } from 'node:worker_threads'
import { newTerminationGuard, closeTerminationGuard } from ${door}
for (let i = 0; i < 40; i++) {
  const begun = new Int32Array(new SharedArrayBuffer(4))
  const door = newTerminationGuard()
  const worker = new Worker(new URL('./thread.mjs', import.meta.url), { workerData: { begun, door } })
  await Atomics.waitAsync(begun, 0, 0).value
  await new Promise(resolve => setTimeout(resolve, i % 5))
  if (await closeTerminationGuard(door, 60_000)) await worker.terminate()
  else throw new Error('it never came out')
}
console.log('ended')`,
  )
  const { stdout, stderr, status } = spawnSync(process.execPath, [join(folder, 'main.mjs')], {
    encoding: 'utf8',
  })
  expect(stdout, stderr).toBe('ended\n')
  expect(status).toBe(0)
})

test('while it loads the modules that declare native functions, which it is not ended in', () => {
  const folder = temporaryFolder()
  const [door, child] = ['node/unbroken', 'process/child'].map(name =>
    JSON.stringify(new URL(`../../../../build/core/system/${name}.js`, import.meta.url).href),
  )
  writeFileSync(
    join(folder, 'thread.mjs'),
    `import { workerData } from 'node:worker_threads'
await import(${child})
const { useTerminationGuard } = await import(${door})
useTerminationGuard(workerData)
setInterval(() => {}, 1000)`,
  )
  writeFileSync(
    join(folder, 'main.mjs'),
    `import { Worker } from 'node:worker_threads'
import { newTerminationGuard, closeTerminationGuard } from ${door}
for (let i = 0; i < 60; i++) {
  const door = newTerminationGuard()
  const worker = new Worker(new URL('./thread.mjs', import.meta.url), { workerData: door })
  await new Promise(resolve => setTimeout(resolve, i))
  if (await closeTerminationGuard(door, 60_000)) await worker.terminate()
  else throw new Error('it never came out')
}
console.log('ended')`,
  )
  const { stdout, stderr, status } = spawnSync(process.execPath, [join(folder, 'main.mjs')], {
    encoding: 'utf8',
  })
  expect(stdout, stderr).toBe('ended\n')
  expect(status).toBe(0)
})
