import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { numberFeed, using } from '../support/engine.js'
import { LONGEST_WAIT, until } from '../support/until.js'

/** How nice each thread of this process is: field 19 of its stat. */
function niceness(): number[] {
  return readdirSync('/proc/self/task').map(thread => {
    const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'latin1')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])
  })
}

describe.skipIf(process.platform !== 'linux')('priority', () => {
  it('is lower for makers, and for nobody else', async () => {
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

const AUTOGROUP = '/proc/self/autogroup'

describe.skipIf(!existsSync(AUTOGROUP))('the priority of a session', () => {
  /** What a process says of its session after it has given way, in a session of its own or in ours. */
  function afterGivingWay(detached: boolean): Promise<string> {
    const { href } = new URL('../../dist/system/process/priority.js', import.meta.url)
    const program = `
      import { readFileSync } from 'node:fs'
      import { giveWayAsSession } from '${href}'
      giveWayAsSession()
      console.log(readFileSync('${AUTOGROUP}', 'utf8'))`
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], { detached })
    return text(child.stdout)
  }

  it('is lower where the session is its own', async () => {
    // Linux lets ordinary users do so ten times a second, all of them together.
    await expect.poll(() => afterGivingWay(true), { timeout: LONGEST_WAIT }).toMatch(/nice 10$/m)
  })

  it('is left alone where it is somebody else’s', async () => {
    const before = readFileSync(AUTOGROUP, 'utf8')
    expect((await afterGivingWay(false)).trim()).toBe(before.trim())
  })
})
