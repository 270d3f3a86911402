/** Measured lengths are kept between processes, and believed only while they are whole and of the same data. */
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { temporaryFolder } from '../../../../../test/support/folder.js'

let cache: string
beforeEach(() => {
  cache = temporaryFolder()
  vi.stubEnv('MILLRACE_CACHE', cache)
})
afterEach(() => void vi.unstubAllEnvs())

const LENGTHS = Array.from({ length: 700 }, (_, i) => (i * 7919) % 61)
const ABOUT = 'a'.repeat(64)

/** Asks as a new process would; returns what came, and whether it was measured. */
async function asked(about = ABOUT, count = 700): Promise<{ lengths: number[]; measured: boolean }> {
  vi.resetModules()
  const { keptLengths } = await import('../../../engine/plan/lengths.js')
  let measured = false
  const lengths = await keptLengths('lengths-x', about, count, async () => {
    measured = true
    const numbers = new Uint32Array(new SharedArrayBuffer(count * 4))
    numbers.set(LENGTHS.slice(0, count))
    return numbers
  })
  expect(lengths.buffer).toBeInstanceOf(SharedArrayBuffer)
  return { lengths: [...lengths], measured }
}

test('measured once, and no lock is left', async () => {
  expect(await asked()).toEqual({ lengths: LENGTHS, measured: true })
  expect(await asked()).toEqual({ lengths: LENGTHS, measured: false })
  expect((await asked('b'.repeat(64))).measured).toBe(true)
  expect((await asked(ABOUT, 699)).measured).toBe(true)
  const files = readdirSync(join(cache, 'index'))
  expect(files.filter(name => name.endsWith('.millrace'))).toHaveLength(2)
  expect(files).toHaveLength(2)
})

test('measured again where a byte is wrong, or the file is cut short or another', async () => {
  await asked()
  const [name] = readdirSync(join(cache, 'index'))
  const path = join(cache, 'index', name)
  const whole = readFileSync(path)
  for (let at = 0; at < whole.length; at += 97) {
    const bytes = Buffer.from(whole)
    bytes[at] ^= 1
    writeFileSync(path, bytes)
    // Bytes that nothing depends on, between the parts, may be others.
    expect((await asked()).lengths, `byte ${at}`).toEqual(LENGTHS)
  }
  const column = Buffer.from(whole)
  column[whole.length - 300] ^= 1
  for (const bytes of [column, whole.subarray(0, whole.length - 200), Buffer.from('no index at all')]) {
    writeFileSync(path, bytes)
    expect(await asked()).toEqual({ lengths: LENGTHS, measured: true })
    expect((await asked()).measured).toBe(false)
  }
})

test.skipIf(process.getuid?.() === 0)('measured each time where there is no place for them', async () => {
  chmodSync(cache, 0o500)
  expect((await asked()).measured).toBe(true)
  expect((await asked()).measured).toBe(true)
  chmodSync(cache, 0o700)
})
