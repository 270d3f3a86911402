/** What CUDA will find in the environment: C's, which a child inherits from. */
import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

/** The variable as C has it, after a worker thread of a new process has asked. */
function asked(chosen: Record<string, string>): string {
  const module = new URL('../../../../build/cuda/driver/driver.js', import.meta.url).href
  const program = `
    import { Worker } from 'node:worker_threads'
    import { libc } from '${new URL('../../../../build/core/system/native.js', import.meta.url).href}'
    const worker = new Worker("import('${module}').then(({ askForQueues }) => askForQueues())", { eval: true })
    worker.on('exit', () => console.log(libc.func('const char *getenv(const char *name)')('CUDA_DEVICE_MAX_CONNECTIONS')))`
  const { CUDA_DEVICE_MAX_CONNECTIONS: _, ...rest } = process.env
  const args = ['--input-type=module', '-e', program]
  return execFileSync(process.execPath, args, { env: { ...rest, ...chosen }, encoding: 'utf8' }).trim()
}

test('all queues are asked for, also from a thread', () => expect(asked({})).toBe('32'))

test('who has chosen is not overruled', () => {
  expect(asked({ CUDA_DEVICE_MAX_CONNECTIONS: '1' })).toBe('1')
})
