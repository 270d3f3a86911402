/** The source `kernel`: rows without bytes, and the text of a kernel with what it includes. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import type { KernelJson } from '../../define/types.js'
import type { KernelManifest } from '../../source/made/kernel.js'
import { attachSource, openSource } from '../../source/registry.js'
import { conforms } from './conformance.js'

const text =
  '#include "millrace.cuh"\nextern "C" __global__ void draw(millrace::Batch batch, float* image) {}\n'
const json: KernelJson = {
  file: 'gen.cu',
  entry: 'draw',
  count: 5,
  fields: { image: { dtype: 'f32', shape: [4] } },
}

conforms({
  name: 'kernel',
  json: { kernel: json },
  wanted: [],
  write: root => writeFileSync(join(root, 'gen.cu'), text),
  count: 5,
  first: {},
})

describe('kernel', () => {
  const home = temporaryFolder()
  const opened = async (files: Record<string, string>, change: Partial<KernelJson> = {}) => {
    for (const [name, content] of Object.entries(files)) writeFileSync(join(home, name), content)
    return (await openSource(
      { kernel: { ...json, ...change } },
      { root: home, wanted: [] },
    )) as KernelManifest
  }

  test('carries all that a launch needs', async () => {
    const fields: KernelJson['fields'] = {
      label: { dtype: 'i64', shape: [] },
      image: { dtype: 'f32', shape: [4, 2] },
    }
    const manifest = await opened({ 'gen.cu': text }, { fields, seed: 9 })
    expect(manifest).toMatchObject({
      file: join(home, 'gen.cu'),
      text,
      headers: {},
      entry: 'draw',
      threads: 8,
      seed: 9,
      fields: [
        { name: 'label', dtype: 'i64', shape: [] },
        { name: 'image', dtype: 'f32', shape: [4, 2] },
      ],
    })
  })

  test('knows the files that it includes, and by hash what they say', async () => {
    mkdirSync(join(home, 'deep'), { recursive: true })
    const files = {
      'gen.cu': `#include "a.cuh"\n  # include "a.cuh"\n#include <b.cuh>\n#include "absent.h"\n${text}`,
      'a.cuh': '#include "deep/c.cuh"',
      'b.cuh': 'not ours',
      'deep/c.cuh': '// c',
    }
    const first = await opened(files)
    expect(first.headers).toEqual({ 'a.cuh': files['a.cuh'], 'deep/c.cuh': '// c' })
    const second = await opened({ 'deep/c.cuh': '// changed' })
    expect(second.content).not.toBe(first.content)
    expect(second.fingerprint).toEqual(first.fingerprint)
  })

  test('has another content for another entry, order of fields, number of threads or seed', async () => {
    const two: KernelJson['fields'] = { a: { dtype: 'f32', shape: [] }, b: { dtype: 'f32', shape: [] } }
    const both = `${text}extern "C" __global__ void paint() {}`
    const of = async (change: Partial<KernelJson>) => (await opened({ 'gen.cu': both }, change)).content
    const contents = await Promise.all([
      of({ fields: two }),
      of({ fields: { b: two.b, a: two.a } }),
      of({ fields: two, entry: 'paint' }),
      of({ fields: two, threads: 2 }),
      of({ fields: two, seed: 1 }),
    ])
    expect(new Set(contents).size).toBe(5)
    expect(await of({ fields: two, name: 'x', count: 77 })).toBe(contents[0])
  })

  test('has another fingerprint for another count or name', async () => {
    const of = async (change: Partial<KernelJson>) =>
      (await opened({ 'gen.cu': text }, change)).fingerprint.digest
    expect(new Set([await of({}), await of({ count: 6 }), await of({ name: 'x' })]).size).toBe(3)
  })

  test('says which file is missing', async () => {
    await opened({ 'gen.cu': text })
    await expect(opened({}, { file: 'gne.cu' })).rejects.toThrow(
      /gne\.cu, .* is not there; did you mean "gen\.cu"\?/,
    )
    await expect(opened({}, { file: 'no/gen.cu' })).rejects.toThrow(/nor is its folder/)
  })

  test('says which function is missing', async () => {
    await expect(opened({ 'gen.cu': text }, { entry: 'drwa' })).rejects.toThrow(
      /has no function "drwa"; did you mean "draw"\?/,
    )
    await opened(
      { 'gen.cu': '#define F(n) void make##n()\nextern "C" __global__ F(Draw) {}' },
      { entry: 'makeDraw' },
    )
  })

  test('refuses two files by one name', async () => {
    mkdirSync(join(home, 'other'), { recursive: true })
    const files = {
      'gen.cu': `#include "a.cuh"\n#include "other/b.cuh"\n${text}`,
      'a.cuh': '// one',
      'other/b.cuh': '#include "a.cuh"',
      'other/a.cuh': '// two',
    }
    await expect(opened(files)).rejects.toThrow(/two different files are included as "a\.cuh"/)
  })

  test('has nothing to read', async () => {
    const source = attachSource(await opened({ 'gen.cu': text }))
    expect(source.sample(3, 0, [], { ranges: [], units: [] })).toEqual({})
    expect(() => source.sample(3, 0, ['image'], { ranges: [], units: [] })).toThrow(/generated on the GPU/)
  })
})
