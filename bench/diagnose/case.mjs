// One case of the exam: plants the fault, measures what removing it gains, asks `millrace diagnose`, and tries its advice.
import { join } from 'node:path'
import { median } from '../support.mjs'
import { appliable, givenOthers } from './advice.mjs'
import { latencyFor } from './calibrate.mjs'
import { settle } from './draw.mjs'
import { end, hogs, millrace, rateOf, startRanks, trainerOf, trains } from './run.mjs'
import { score } from './score.mjs'
import { writeCase } from './write-case.mjs'

/** A setting with some things changed. */
const changed = (setting, change) => ({
  ...setting,
  ...change,
  ...(setting.store && change.store && { store: { ...setting.store, ...change.store } }),
  ...(setting.fn && change.fn && { fn: { ...setting.fn, ...change.fn } }),
})

/** The settings of a case: as planted, and without each of its faults. */
async function plant(one, lane, folder) {
  const { base, faults } = settle(one, lane)
  for (const fault of faults)
    if (fault.latency !== undefined) {
      const latencyMs = await latencyFor(join(folder, 'try'), lane.data, base, fault.latency)
      fault.with = { store: { latencyMs } }
    }
  const all = list => list.reduce((setting, fault) => changed(setting, fault.with), base)
  return {
    names: faults.map(fault => fault.name).filter(name => name !== undefined),
    planted: all(faults),
    removed: faults.map(fault => all(faults.filter(other => other !== fault))),
    clean: base,
  }
}

/** The files of a setting, and how it goes in turns with others. */
class Contender {
  constructor(folder, data, setting) {
    this.setting = setting
    this.written = writeCase(folder, data, setting)
    this.turns = []
  }
  async turn(seconds) {
    this.turns.push(await rateOf(this.written, this.setting, seconds))
  }
  middle(what) {
    return median(this.turns.map(turn => turn[what]))
  }
  get rate() {
    return this.middle('rate')
  }
}

/** Runs contenders in turns. */
async function inTurns(contenders, turns, seconds) {
  for (let i = 0; i < turns; i++) for (const contender of contenders) await contender.turn(seconds)
}

export async function runCase(one, lane, options) {
  const folder = join(lane.folder, one.name)
  const { names, planted, removed, clean } = await plant(one, lane, folder)
  const contender = (name, setting) => new Contender(join(folder, name), lane.data, setting)
  const faulty = contender('a', planted)
  const without = removed.map((setting, i) => contender(`b${i}`, setting))
  const ideal = removed.length > 1 ? [contender('c', clean)] : []
  // A start counts once in a run: such runs are longer, as those are that diagnose makes.
  const seconds = planted.fromStart ? Math.max(5, options.seconds) : options.seconds
  await inTurns([faulty, ...without, ...ideal], options.turns, seconds)
  const record = join(options.records, `${one.name}.json.gz`)
  const asked = options.truth ? undefined : await diagnose(faulty, folder, record)
  const truth = {
    gains: without.map(other => other.rate / faulty.rate - 1),
    all: (ideal[0] ?? without[0] ?? faulty).rate / faulty.rate - 1,
    step: faulty.middle('stepMs'),
    lost: 1 - planted.stepMs / faulty.middle('stepMs'),
    others: faulty.middle('others'),
    strangers: (ideal[0] ?? without[0] ?? faulty).middle('others'),
  }
  const diagnosis = asked?.diagnosis
  const tried =
    diagnosis === undefined
      ? undefined
      : await tryAdvice(diagnosis, faulty, { contender, lane, record, seconds })
  const result = {
    ...one,
    names,
    planted: { ...planted, cores: planted.cores.length },
    rate: faulty.rate,
    truth,
    turns: { a: faulty.turns, without: without.map(other => other.turns) },
    ...(asked !== undefined && { command: asked.command, ...(asked.error && { error: asked.error }) }),
    diagnosis,
    tried,
  }
  return { ...result, score: score(result) }
}

/** `millrace diagnose` on the planted setting, as a user would type it; hogs run beside it. */
async function diagnose({ setting, written }, folder, record) {
  const beside = hogs(setting.cores, setting.hogs ?? 0)
  const trainers = []
  try {
    let words
    if (setting.attach) {
      const started = setting.ranks
        ? startRanks(written, setting, ['--forever'])
        : [trainerOf(written, setting, ['--forever'])]
      trainers.push(...started)
      await Promise.all(started.map(trains))
      // taskset becomes the trainer: its id is the child's.
      words = [
        'diagnose',
        '--attach',
        started[0].pid,
        ...(setting.knowsStep ? ['--step-ms', setting.stepMs] : []),
      ].map(String)
    } else {
      words = ['diagnose', written.feed, ...written.options, '--step-ms', String(setting.stepMs)]
    }
    words.push('--record', record)
    const { code, said, complained } = await millrace(setting.cores, words)
    const command = `millrace ${words.map(word => word.replace(folder, '.')).join(' ')} --json`
    if (!said.trim().startsWith('{'))
      return { command, error: `ended with ${code}: ${complained.slice(-1500)}` }
    return { command, diagnosis: JSON.parse(said) }
  } finally {
    await Promise.all([...beside, ...trainers].map(child => end(child)))
  }
}

/**
 * The first advice that can be carried out is, and it is measured in turns with the planted setting. A gain is predicted of steps:
 * the start is left out, also of a case in which it counts.
 */
async function tryAdvice(diagnosis, faulty, { contender, lane, record, seconds }) {
  const found = appliable(diagnosis, faulty.setting, lane)
  if (found === undefined) return undefined
  const setting = { ...faulty.setting, fromStart: false }
  const before = contender('d', setting)
  const after = contender('e', { ...setting, ...found.change })
  await inTurns([before, after], 2, seconds)
  const others = [before.middle('others'), after.middle('others')]
  return {
    action: found.remedy.action,
    change: found.change,
    predicted: found.remedy.predictedGain,
    given: givenOthers(record, found, others),
    interval: found.remedy.interval,
    gain: after.rate / before.rate - 1,
    others,
  }
}
