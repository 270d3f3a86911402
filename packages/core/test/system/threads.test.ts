/** Work that is spread over threads, and how they end. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { spread } from '../../system/node/threads.js'

it('a thread that still loads is not cut short when another fails: in a native library that ends the process', async () => {
  const words = new Int32Array(new SharedArrayBuffer(12))
  const file = join(temporaryFolder(), 'thread.mjs')
  // The first thread to arrive fails at once, the other takes its time to load.
  writeFileSync(
    file,
    `import { parentPort, workerData } from 'node:worker_threads'
     if (Atomics.add(workerData, 0, 1) === 0) {
       Atomics.wait(workerData, 1, 0)
       parentPort.postMessage({ failed: { ours: true, message: 'the first one failed' } })
     } else {
       Atomics.store(workerData, 1, 1)
       Atomics.notify(workerData, 1)
       Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
       Atomics.store(workerData, 2, 1)
       parentPort.postMessage({ ready: true })
     }`,
  )
  const work = spread({
    threads: 2,
    worker: pathToFileURL(file),
    setup: words,
    start: () => () => undefined,
    tasks: [1, 2, 3],
    onResult: () => {},
  })
  await expect(work).rejects.toThrow('the first one failed')
  expect([...words]).toEqual([2, 1, 1])
})

/** A thread that gives back what it is given. */
function echo(): URL {
  const file = join(temporaryFolder(), 'echo.mjs')
  writeFileSync(
    file,
    `import { parentPort } from 'node:worker_threads'
     parentPort.on('message', task => parentPort.postMessage({ result: task }))
     parentPort.postMessage({ ready: true })`,
  )
  return pathToFileURL(file)
}

it.each([0, 2])('tasks may come one after the other, with %d threads', async threads => {
  async function* tasks() {
    for (let i = 0; i < 5; i++) yield await new Promise<number>(resolve => setImmediate(resolve, i))
  }
  const results: number[] = []
  const work = { threads, worker: echo(), setup: {}, start: () => (task: number) => task }
  await spread({ ...work, tasks: tasks(), onResult: result => void results.push(result) })
  expect(results.sort()).toEqual([0, 1, 2, 3, 4])
  async function* broken() {
    yield* tasks()
    throw new Error('no more')
  }
  await expect(spread({ ...work, tasks: broken(), onResult: () => {} })).rejects.toThrow('no more')
})

it.each([0, 2])('what a result brings about may fail, with %d threads', async threads => {
  const work = { threads, worker: echo(), setup: {}, start: () => (task: number) => task }
  const onResult = () => {
    throw new Error('the disk is full')
  }
  await expect(spread({ ...work, tasks: [1, 2, 3], onResult })).rejects.toThrow('the disk is full')
})
