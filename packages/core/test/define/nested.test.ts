/** Nested sources are found by one walk, whatever combinator holds them. */
import { expect, it } from 'vitest'
import { columnsAreKnown, pythonSources } from '../../define/check/sources.js'
import { codeInSource } from '../../define/code.js'
import { allFormats } from '../../define/format.js'
import { allSources, withInner } from '../../define/nested.js'
import { rulesOf } from '../../define/rules.js'
import type { PythonJson, SourceJson, SourceName } from '../../define/types.js'

const python = (name: string): SourceJson & { python: PythonJson } => ({
  python: { payload: `/tmp/${name}`, hash: name, count: 4, name },
})

/** One source of each kind that holds others, around the given ones, and where they are in it. */
const AROUND: Partial<
  Record<SourceName, [make: (a: SourceJson, b: SourceJson) => SourceJson, ...paths: string[]]>
> = {
  concat: [(a, b) => ({ concat: [a, b] }), 'concat[0]', 'concat[1]'],
  zip: [(a, b) => ({ zip: [a, b] }), 'zip[0]', 'zip[1]'],
  subset: [a => ({ subset: { source: a, range: [0, 1] } }), 'subset.source'],
  split: [a => ({ split: { source: a, folds: 2, take: 0 } }), 'split.source'],
  blend: [
    (a, b) => ({ blend: { entries: [a, b].map(source => ({ source, weight: 1 })) } }),
    'blend.entries[0].source',
    'blend.entries[1].source',
  ],
  chat: [a => ({ chat: { source: a, tokenizer: 'model', length: 8 } }), 'chat.source'],
}

it('is tested for every combinator', () => {
  expect(Object.keys(AROUND)).toEqual(allFormats().flatMap(({ inner, name }) => (inner ? [name] : [])))
})

for (const [name, [make, ...paths]] of Object.entries(AROUND)) {
  it(`finds what is in ${name}, at any depth`, () => {
    const leaves = [python('one'), python('two')]
    const outer = make({ subset: { source: leaves[0], indices: [0] } }, leaves[1])
    const [first, ...rest] = paths
    const places = [`${first}.subset.source`, ...rest].map(path => `${path}.python`)
    expect(codeInSource(outer, '/').map(({ path }) => path)).toEqual(places)
    expect(pythonSources(outer)).toEqual(leaves.slice(0, paths.length).map(leaf => leaf.python))
    expect(columnsAreKnown(outer)).toBe(false)
    expect(columnsAreKnown(make({ tar: 'a.tar' }, { folder: 'b' }))).toBe(true)
    expect(rulesOf(make({ folder: 'b' }, { tar: 'a.tar' }))).toContain('folder with bmp')
    expect(allSources(outer)[0]).toEqual({ source: outer, keys: [] })
  })

  it(`puts other sources into ${name} and leaves the rest`, () => {
    const [a, b, c] = ['a', 'b', 'c'].map(path => ({ tar: path }))
    const changed = withInner(make(a, b), inner => (inner === a ? c : inner))
    expect(changed).toEqual(make(c, b))
  })
}
