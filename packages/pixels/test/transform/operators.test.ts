/** Operators with a golden.json in their folder: what they make of a picture is what torchvision's transform made of it. */
import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { operatorKey, Random } from '../../../core/basics/random.js'
import { normalOps } from '../../../core/define/operator.js'
import { Workspace } from '../../../core/system/memory/workspace.js'
import { chooseSteps } from '../../operators/choose.js'
import { OPERATORS } from '../../operators/registry.js'
import { applyStep } from '../../operators/steps.js'
import { bytesOf, put } from './pictures.js'

/** Written by hand but for what test/golden/operators/make.py fills in. */
interface Case {
  torchvision: string
  ours: unknown
  /** All bytes of the picture; absent: each is another one. */
  value?: number
  /** Of the result, where the transform chooses at random. */
  mean?: number
  deviation?: number
  count?: number
  /** The result, where it does not. */
  bytes?: string
}

const file = (name: string): URL => new URL(`../../operators/${name}/golden.json`, import.meta.url)
const named = Object.keys(OPERATORS).filter(name => existsSync(file(name)))

describe.each(named)('%s', name => {
  const { cases }: { cases: Case[] } = JSON.parse(readFileSync(file(name), 'utf8'))
  it.each(cases)('$torchvision of $value', ({ ours, value, mean, deviation, count, bytes }) => {
    const side = value === undefined ? 16 : 256
    // Torchvision has the channels first.
    const byteAt = (i: number): number => value ?? (((i % 3) * 256 + Math.floor(i / 3)) * 7) & 255
    const input = Uint8Array.from({ length: 3 * side * side }, (_, i) => byteAt(i))
    const work = Workspace.alone()
    let picture = put(work, { width: side, height: side, channels: 3 }, input, 7)
    const random = new Random().key(1, 0, 2, operatorKey('image', name, 0))
    for (const step of chooseSteps(normalOps([ours as never], 'apply'), picture, () => random))
      picture = applyStep(step, picture, work)
    const out = bytesOf(picture, work)
    if (bytes !== undefined) {
      expect(Buffer.from(out).toString('hex')).toBe(bytes)
      return
    }
    const average = out.reduce((sum, x) => sum + x, 0) / out.length
    const spread = Math.sqrt(out.reduce((sum, x) => sum + (x - average) ** 2, 0) / out.length)
    // Five standard errors of both samples.
    const error = 5 * Math.sqrt(2 / count!) * deviation!
    expect(Math.abs(average - mean!)).toBeLessThan(error)
    expect(Math.abs(spread - deviation!)).toBeLessThan(error)
  })
})

it('are some', () => expect(named.length).toBeGreaterThan(0))
