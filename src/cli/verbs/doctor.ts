/** `millrace doctor`: what this machine and installation can do, and what to do about what they can't. */
import { command } from '../command.js'
import type { Finding } from '../doctor/finding.js'
import { findings } from '../doctor/findings.js'
import { table } from '../table.js'
import { counted } from '../units.js'

const MARKS = { ok: '✓', warn: '!', bad: '✗' } as const

export const doctor = command({
  name: 'doctor',
  summary: 'checks the machine and the installation',
  about:
    'Checks what Millrace needs and uses. Exits with 1 only when something is missing without which nothing works.',
  args: [],
  options: {},
  examples: [['millrace doctor', 'what is here, and what to do about what is not']],
  async run() {
    const found = await findings()
    const bad = found.filter(finding => finding.verdict === 'bad').length
    const warnings = found.filter(finding => finding.verdict === 'warn').length
    const summary =
      bad > 0
        ? `${counted(bad, 'thing')} Millrace can't do without`
        : `ready${warnings > 0 ? `, with ${counted(warnings, 'remark')}` : ''}`
    return {
      json: { ok: bad === 0, findings: found },
      text: `${lines(found)}\n\n${summary}`,
      code: bad > 0 ? 1 : 0,
    }
  },
})

function lines(found: readonly Finding[]): string {
  return table(
    ['', 'what', 'found'],
    found.map(({ verdict, what, is, todo }) => [
      MARKS[verdict],
      what,
      todo === undefined ? is : `${is}: ${todo}`,
    ]),
  )
}
