import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { numberFeed, using } from '../../../../test/support/engine.js'
import { until } from '../../../../test/support/until.js'

/** How nice each thread of this process is: field 19 of its stat. */
function niceness(): number[] {
  return readdirSync('/proc/self/task').map(thread => {
    const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'latin1')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])
  })
}

describe.skipIf(process.platform !== 'linux')('priority', () => {
  it('is lower for makers, and for no other thread', async () => {
    const before = niceness()
    const usual = before[0]
    expect(new Set(before)).toEqual(new Set([usual]))
    await using(numberFeed(1000), { workers: 3 }, async loader => {
      for await (const _ of loader) break
      // They start one after the other.
      await until(() => String(niceness().filter(nice => nice > usual)) === '10,10,10')
    })
  })
})
