/** Functions of the user's own: how the JSON refers to them, and how they are found again. */
import { describe, expect, test } from 'vitest'
import { image, tar } from '../../../all/index.js'
import { int, text } from '../../../pixels/build/fields.js'
import { Random } from '../../basics/random.js'
import { functionHash, resolveCall } from '../../define/build/call.js'
import { type Feed, feed } from '../../define/build/feed.js'

const plusOne = (value: number): number => value + 1
const own = feed({
  source: tar('a.tar'),
  fields: { label: int('cls').map(plusOne), name: text('txt').map(async value => value.trim()) },
  map: sample => ({ ...sample, extra: 1 }),
  batch: 4,
  variants: { val: { fields: { label: int('cls').map(value => value + 2) } } },
})
const load = (module: object) => async () => module as Record<string, unknown>
const random = new Random().key(0, 0, 0, 0)

describe('references', () => {
  test('say the module, the place and the hash', () => {
    const here = import.meta.url.replace(/\?.*/, '')
    expect(own.json.fields.label.map).toEqual({
      call: { module: here, path: 'fields.label.map', hash: functionHash(plusOne) },
    })
    expect(own.json.map?.call.path).toBe('map')
    expect([...own.functions.keys()]).toEqual([
      'fields.label.map',
      'fields.name.map',
      'map',
      'variants.val.fields.label.map',
    ])
    expect(own.json.variants?.val).toEqual({
      fields: {
        label: {
          map: {
            call: {
              path: 'variants.val.fields.label.map',
              hash: functionHash(own.functions.get('variants.val.fields.label.map')!),
            },
          },
        },
      },
    })
  })

  test('are absent where there are no functions', () => {
    const plain: Feed = feed({
      source: tar('a.tar'),
      fields: { image: image('jpg').centerCrop(8) },
      batch: 4,
    })
    expect(plain.functions.size).toBe(0)
    expect(JSON.stringify(plain.json)).not.toContain('call')
  })

  test('find the function again, in the feed or among the exports', async () => {
    const found = await resolveCall(own.json.fields.label.map!, load({ default: own }))
    expect(await found(4 as never, random)).toBe(5)
    const call = { module: 'file:///x.js', export: 'plusOne', hash: functionHash(plusOne) }
    expect(await resolveCall({ call }, load({ plusOne }))).toBe(plusOne)
  })

  test('say what to do when it is not there or not the same', async () => {
    const { map } = own.json.fields.label
    await expect(resolveCall(map!, load({}))).rejects.toThrow(/export default feed/)
    await expect(resolveCall(map!, load({ default: 3 }))).rejects.toThrow(/no function at "fields.label.map"/)
    const changed = { call: { ...map!.call, hash: 'another' } }
    await expect(resolveCall(changed, load({ default: own }))).rejects.toThrow(
      /not the one of the definition.*expected another/,
    )
    const missing = { call: { module: 'file:///x.js', export: 'gone', hash: 'h' } }
    await expect(resolveCall(missing, load({}))).rejects.toThrow(/no function named "gone": export it/)
  })
})

describe('the hash of a function', () => {
  /** Functions of given text. */
  const hash = (code: string): string => functionHash(new Function(`return (${code})`)())

  test('does not know blanks that stripped types leave', () => {
    expect(hash('(value        , random        ) => value +  1')).toBe(hash('(value, random) => value + 1'))
    expect(hash('function f ( a ) {\n  return a\n}')).toBe(hash('function f(a) { return a }'))
  })

  test('knows everything else', () => {
    const codes = [
      'a => a + 1',
      'a => a + 2',
      'a => a +1+ 1',
      "a => 'x y'",
      "a => 'xy'",
      'a => `x  y`',
      'async a => a + 1',
      'ab => 1',
      'a => b',
    ]
    expect(new Set(codes.map(hash)).size).toBe(codes.length)
  })
})
