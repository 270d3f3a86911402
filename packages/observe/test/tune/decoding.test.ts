/** Who decodes, found by the tuner in computed runs: a CPU that keeps up, a GPU that is faster, one that slows the trainer. */
import { describe, expect, test } from 'vitest'
import { Decoding } from '../../tune/decoding.js'
import type { Weighed } from '../../tune/seen.js'
import { Tuner } from '../../tune/tuner.js'
import { closedLoop, type Scenario } from './closed-loop.js'

const START = { workers: 4, depth: 4, claimRows: 8, ahead: 0 }
/** JPEGs whose decoding is nine tenths of the work. `step`: the trainer's own; the GPU's part makes it longer. */
const JPEG = { cores: 4, rows: 64, cpu: 2, blocked: 0.05, spread: 0.2, noise: 0.03, step: 20 }

/** What a step takes while the GPU decodes none, or all of the images. */
function scenario(workload: Partial<typeof JPEG>, gpuStep: number): Scenario {
  const all = { ...JPEG, ...workload }
  return {
    name: 'decoders',
    workload: all,
    claim: { rows: 8, least: 1, most: 64 },
    decoders: twentieths => ({
      cpu: all.cpu * (0.1 + (0.9 * twentieths) / 20),
      step: all.step + ((gpuStep - all.step) * (20 - twentieths)) / 20,
    }),
  }
}

function run(one: Scenario, seconds = 90) {
  const found = closedLoop(one, START, seconds, 3, new Tuner(0))
  const log = found.decisions.map(({ at, event, reason }) => `${(at / 1000).toFixed(1)} ${event} ${reason}`)
  return { ...found, log: log.join('\n') }
}

/** A ring of which a share of the time is waited for workers that run. */
function waiting(decoder: number, running: number): Weighed {
  const parts = { ideal: 1 - running, running, blocked: 0, queued: 0, noSlot: 0 }
  return { ring: 0, room: { decoder }, accounting: { parts, lost: running } } as unknown as Weighed
}

describe('who decodes', () => {
  test('a CPU that keeps up goes on, and that is decided', () => {
    const { decoder, decisions, log } = run(scenario({ cpu: 0.5 }, 20))
    expect(decoder, log).toMatchObject({ twentieths: 20 })
    expect(decoder.found).toMatch(
      /^Images are decoded on the CPU: it keeps up, the trainer loses [01](\.\d)? %\.$/,
    )
    expect(decisions.filter(({ knob }) => knob === 'decode')).toMatchObject([
      { event: 'kept', from: 20, to: 20 },
    ])
  })

  test('a GPU that decodes at no cost is taken, after the workers were set', () => {
    const { decoder, decisions, log } = run(scenario({}, 20.2))
    expect([0, 1, 2, 3, 4, 5, 6], log).toContain(decoder.twentieths)
    expect(decoder.found).toContain('Images are decoded on the GPU: it came +')
    const tried = decisions.filter(({ knob, event }) => knob === 'decode' && event === 'tried')
    expect(tried.map(({ to }) => to)[0]).toBe(0)
    expect(tried).toHaveLength(2) // then both, once
  })

  test('where the GPU pays for decoding, both decode', () => {
    // Alone the CPU takes about 32 ms a step, and the GPU 30 with decoding; between them both are faster.
    const { decoder, log } = run(scenario({ cpu: 1.9 }, 30))
    expect(decoder.twentieths, log).toBeGreaterThan(0)
    expect(decoder.twentieths, log).toBeLessThan(20)
    expect(decoder.found).toContain('on both')
  })

  test('the share of the CPU is what it managed beside the GPU, not in the first steps', () => {
    const decoding = new Decoding()
    // In the first steps a fifth was waited for. Side by side the GPU gave 69 % more: the CPU manages 0.59 of it.
    const cpu = { from: 20, to: 0, ring: 0, knob: 'decode' as const, predicted: null }
    expect(decoding.next(waiting(20, 0.2))).toEqual(cpu)
    const measured = { gain: 0.69, interval: [0.59, 0.79] as [number, number] }
    expect(decoding.concluded(cpu, { kept: true, settings: [], measured }, 'It came.')).toBeUndefined()
    expect(decoding.next(waiting(0, 0))).toMatchObject({ from: 0, to: 11 })
  })

  test('a GPU that slows the trainer more than it helps is not taken', () => {
    const { decoder, log } = run(scenario({ cpu: 1.4 }, 200))
    expect(decoder, log).toMatchObject({ twentieths: 20 })
    expect(decoder.found).toMatch(/^Not on the GPU: .* Not on both/)
  })

  test('storage that is slow is no reason to decode elsewhere', () => {
    const { decisions, log } = run(scenario({ cpu: 0.05, blocked: 60 }, 20), 40)
    expect(
      decisions.some(({ knob, event }) => knob === 'decode' && event === 'tried'),
      log,
    ).toBe(false)
  })

  test('once found it stays, whatever comes', () => {
    const one = scenario({ cpu: 0.5 }, 20)
    const { decisions, log } = run({ ...one, events: [{ at: 40_000, change: { cpu: 4 } }] })
    const later = decisions.filter(({ knob, at }) => knob === 'decode' && at > 40_000)
    expect(later, log).toEqual([])
  })

  test('a trainer that does not take it up is asked twice', () => {
    const one = scenario({}, 20)
    const { decoder, decisions, log } = run({ ...one, decoders: () => ({}), never: true }, 300)
    expect(decoder.found, log).toMatch(/the trainer did not take it up/)
    expect(decisions.filter(({ knob, event }) => knob === 'decode' && event === 'tried').length).toBeLessThan(
      5,
    )
    expect(decoder.twentieths).toBe(20)
  })
})
