import { describe, expect, it } from 'vitest'
import { expandBraces } from '../../source/find/braces.js'
import { compileGlob } from '../../source/find/glob.js'

describe('braces', () => {
  const cases: [string, string[]][] = [
    ['a', ['a']],
    ['{0000..0002}', ['0000', '0001', '0002']],
    ['{8..11}', ['8', '9', '10', '11']],
    ['{08..11}', ['08', '09', '10', '11']],
    ['{3..1}', ['3', '2', '1']],
    ['{0..10..5}', ['0', '5', '10']],
    ['{-1..1}', ['-1', '0', '1']],
    ['x-{a,b}-{1..2}', ['x-a-1', 'x-a-2', 'x-b-1', 'x-b-2']],
    ['{a,{b,c}d,}', ['a', 'bd', 'cd', '']],
    ['{alone}', ['{alone}']],
    ['{open', ['{open']],
    ['x}y', ['x}y']],
  ]
  it.each(cases)('%s', (pattern, names) => expect(expandBraces(pattern)).toEqual(names))

  it('refuses a pattern for millions of names before making them', () => {
    expect(() => expandBraces('{0..99999999}')).toThrow(RangeError)
    expect(() => expandBraces('{0..9999}{0..9999}')).toThrow(RangeError)
  })
})

describe('globs', () => {
  const cases: [string, string, string[], string[]][] = [
    ['/d/*.npy', '/d', ['a.npy'], ['a/b.npy', '.a.npy', 'anpy']],
    ['/d/**/*.npy', '/d', ['a.npy', 'x/y/a.npy'], ['x/.h/a.npy', 'a.npz']],
    ['/d/e/**', '/d/e', ['a', 'x/a.b'], ['.a', 'x/.y/a']],
    ['/d/?[a-c]/[!x].t', '/d', ['1a/y.t'], ['1d/y.t', '1a/x.t', 'a/y.t']],
    ['/d/a+(b)*.t', '/d', ['a+(b)c.t'], ['aab.t']],
  ]
  it.each(cases)('%s', (pattern, base, matches, others) => {
    const glob = compileGlob(pattern)
    expect(glob.base).toBe(base)
    for (const path of matches) expect([path, glob.test(path)]).toEqual([path, true])
    for (const path of others) expect([path, glob.test(path)]).toEqual([path, false])
  })
})
