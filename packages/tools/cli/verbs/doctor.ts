/** `millrace doctor`: what this machine and installation can do, and what to do about what they can't. */
import { command, UsageError } from '../command.js'
import { type Finding, findAll } from '../doctor/check.js'
import { INSTALLATION, MACHINE } from '../doctor/checks.js'
import { gpuFindings } from '../doctor/gpus.js'
import { growthFinding, watchMemory } from '../doctor/growth.js'
import { lookAtMachine } from '../doctor/machine.js'
import { Progress } from '../progress.js'
import { table } from '../table.js'
import { counted } from '../units.js'

/** How long a process is watched (s). */
const SECONDS = 10
const MARKS = { ok: '✓', warn: '!', bad: '✗' } as const

export const doctor = command({
  name: 'doctor',
  summary: 'checks the machine and the installation',
  about:
    'Checks what Millrace needs and uses. Exits with 1 only when something is missing without which nothing works.',
  args: [],
  options: {
    pid: { type: 'count', value: 'PID', about: 'look at a process instead: does its memory grow?', least: 1 },
    seconds: { type: 'number', value: 'S', about: 'how long, with --pid (10)', least: 0.1 },
  },
  examples: [
    ['millrace doctor', 'what is here, and what to do about what is not'],
    ['millrace doctor --pid 4711 --seconds 60', 'whether the memory of a trainer grows'],
  ],
  async run({ values: { pid, seconds } }) {
    if (pid === undefined && seconds !== undefined)
      throw new UsageError('--seconds says how long a process is watched: give --pid PID with it')
    const found = pid === undefined ? await findings() : [await growth(pid, seconds ?? SECONDS)]
    const [bad, warnings] = ['bad', 'warn'].map(
      word => found.filter(({ verdict }) => verdict === word).length,
    )
    const remarks = warnings > 0 ? `, with ${counted(warnings, 'remark')}` : ''
    const summary = bad > 0 ? `${counted(bad, 'thing')} Millrace can't do without` : `ready${remarks}`
    return {
      json: { ok: bad === 0, findings: found },
      text: pid === undefined ? `${lines(found)}\n\n${summary}` : lines(found),
      code: bad > 0 ? 1 : 0,
    }
  },
})

async function findings(): Promise<Finding[]> {
  // A second's look at the machine, while the rest is tried.
  const machine = lookAtMachine()
  const found = [...(await findAll(INSTALLATION, undefined)), ...(await gpuFindings())]
  return [...found, ...(await findAll(MACHINE, await machine))]
}

async function growth(pid: number, seconds: number): Promise<Finding> {
  const progress = new Progress(`process ${pid}`, { unit: 'looks' })
  const { points, limit } = await watchMemory(pid, seconds, progress.set.bind(progress))
  progress.end()
  return growthFinding(pid, points, limit)
}

function lines(found: readonly Finding[]): string {
  return table(
    ['', 'what', 'found'],
    found.map(({ verdict, what, is, todo }) => [MARKS[verdict], what, todo ? `${is}: ${todo}` : is]),
  )
}
