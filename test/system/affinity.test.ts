import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { bind, bound } from '../../src/system/process/affinity.js'

describe.skipIf(process.platform !== 'linux')('affinity', () => {
  // The tests of a file may run in any thread of the process: ask for that thread, not for the main one.
  const asKernelSays = () =>
    /^Cpus_allowed_list:\s+(\S+)/m.exec(readFileSync('/proc/thread-self/status', 'utf8'))?.[1]

  it('binds the calling thread and lets it go again', () => {
    const before = bound()!
    expect(before.length).toBeGreaterThan(0)
    const core = before.at(-1)!
    try {
      expect(bind([core])).toBeUndefined()
      expect(bound()).toEqual([core])
      expect(asKernelSays()).toBe(String(core))
    } finally {
      expect(bind(before)).toBeUndefined()
    }
    expect(bound()).toEqual(before)
  })

  it('says why it did not', () => {
    const before = bound()
    expect(bind([])).toMatch(/no core.*errno/)
    expect(bind([8191])).toMatch(/8191.*errno/)
    expect(bind([-1])).toMatch(/not the number of a core/)
    expect(bind([0.5])).toMatch(/not the number of a core/)
    expect(bound()).toEqual(before)
  })
})
