// Runs the programs of a case on the cores of a lane: trainers, hogs, millrace.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root } from '../support.mjs'

const TRAINER = fileURLToPath(new URL('trainer.mjs', import.meta.url))
const MAIN = join(root, 'dist/cli/main.js')

/** A program on some cores; kept, so that none outlives the exam. */
const running = new Set()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1))

function start(cores, command, options = {}) {
  const child = spawn('taskset', ['-c', cores.join(','), ...command], {
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options,
  })
  running.add(child)
  child.said = ''
  child.complained = ''
  child.stdout?.on('data', text => (child.said += text))
  child.stderr?.on('data', text => (child.complained += text))
  child.ended = new Promise(resolve => {
    child.on('error', error => {
      child.complained += error.message
      resolve(-1)
    })
    child.on('close', code => {
      running.delete(child)
      resolve(code)
    })
  })
  return child
}

/** Ends what was started here. */
export async function end(child, signal = 'SIGKILL') {
  child.kill(signal)
  const late = setTimeout(() => child.kill('SIGKILL'), 3000)
  await child.ended
  clearTimeout(late)
}

/** Programs that want a core each, and give nothing back. */
export function hogs(cores, count) {
  return Array.from({ length: count }, () =>
    start(cores, [process.execPath, '-e', 'for (;;) Math.random()'], { stdio: 'ignore' }),
  )
}

const stepOf = ({ stepMs, stepRounds }) =>
  stepRounds === undefined ? ['--step-ms', String(stepMs)] : ['--step-rounds', String(stepRounds)]

/** A trainer that goes on until it is ended. */
export function trainerOf(written, setting, more = ['--forever'], options = {}) {
  const command = [process.execPath, TRAINER, written.feed, ...written.options, ...stepOf(setting), ...more]
  return start(setting.cores, command, options)
}

/** Resolves when a trainer that goes on for ever has done some steps. */
export async function trains(child) {
  for (let tries = 0; !child.said.includes('ready'); tries++) {
    if (tries > 600 || child.exitCode !== null)
      throw new Error(`the trainer did not begin: ${child.complained.slice(-2000)}`)
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}

/** How a setting goes, over so many seconds: rate, cores, others' cores (the exam's own hogs among them). */
export async function rateOf(written, setting, seconds) {
  const beside = hogs(setting.hogCores ?? setting.cores, setting.hogs ?? 0)
  try {
    if (setting.ranks !== undefined) return await ranksOf(written, setting, seconds)
    const more = ['--seconds', String(seconds), ...(setting.fromStart ? ['--from-start'] : [])]
    const child = trainerOf(written, setting, more)
    const code = await child.ended
    if (code !== 0) throw new Error(`the trainer ended with ${code}: ${child.complained.slice(-2000)}`)
    return JSON.parse(child.said)
  } finally {
    await Promise.all(beside.map(hog => end(hog)))
  }
}

/** Ranks in step, each a process. Returns their trainers. */
export function startRanks(written, setting, more) {
  const children = Array.from({ length: setting.ranks }, (_, rank) => {
    const words = [...more, '--rank', String(rank), '--world', String(setting.ranks)]
    const child = trainerOf(written, setting, words, {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
      env: { ...process.env, EXAM_RANK: String(rank) },
    })
    child.stdio[4].on('error', () => {})
    return child
  })
  const here = children.map(() => 0)
  const gone = () => {
    for (const child of children) child.stdio[4].end()
  }
  children.forEach((child, rank) => {
    child.stdio[3].on('data', data => {
      here[rank] += data.length
      while (here.every(count => count > 0))
        for (const [i, other] of children.entries()) {
          here[i]--
          other.stdio[4].write('x')
        }
    })
    child.on('exit', gone)
  })
  return children
}

async function ranksOf(written, setting, seconds) {
  const children = startRanks(written, setting, ['--seconds', String(seconds)])
  await Promise.all(children.map(child => child.ended))
  const said = children.map(child => child.said.trim()).find(text => text !== '')
  if (said === undefined) throw new Error(`no rank said anything: ${children[0].complained.slice(-2000)}`)
  return JSON.parse(said)
}

/** `millrace …` with --json, on some cores. */
export async function millrace(cores, words, limit = 120) {
  const child = start(cores, [process.execPath, MAIN, ...words, '--json'])
  const late = setTimeout(() => child.kill('SIGKILL'), limit * 1000)
  const code = await child.ended
  clearTimeout(late)
  return { code, said: child.said, complained: child.complained }
}
