/** `millrace tokens …` as users run it. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { parse, UsageError } from '../../cli/command.js'
import { tokens } from '../../cli/verbs/tokens.js'
import { millrace, start } from '../prepare/helpers.js'

const golden = join(import.meta.dirname, '../../../../test/golden/tokens')
const verbs = tokens.verbs as NonNullable<typeof tokens.verbs>

function copies(...names: string[]): string {
  const folder = temporaryFolder()
  for (const name of names) copyFileSync(join(golden, name), join(folder, name))
  return folder
}

describe('help', () => {
  it('lists the verbs below tokens', async () => {
    const { code, stdout } = await millrace('tokens', '--help')
    expect(code).toBe(0)
    for (const name of Object.keys(verbs)) expect(stdout).toMatch(new RegExp(`^  ${name} +\\S`, 'm'))
    expect(await millrace('help', 'tokens')).toMatchObject({ code: 0, stdout })
  })

  it.each(Object.keys(verbs))('of tokens %s has usage, options and an example', async name => {
    const verb = await verbs[name]()
    expect(verb.name).toBe(`tokens ${name}`)
    expect(verb.summary).not.toMatch(/\.$/)
    expect(verb.examples.length).toBeGreaterThan(0)
    for (const [line] of verb.examples) expect(line).toMatch(new RegExp(`^millrace tokens ${name} `))
  })

  it('of one of them is shown', async () => {
    const { code, stdout } = await millrace('tokens', 'split', '--help')
    expect(code).toBe(0)
    expect(stdout).toContain('millrace tokens split FILES… [options]')
    expect(await millrace('help', 'tokens', 'split')).toMatchObject({ code: 0, stdout })
  })
})

describe('a wrong command line', () => {
  it.each([
    [['tokens'], 'needs a verb: inspect, verify'],
    [['tokens', 'inspekt', 'x'], 'millrace tokens has no verb "inspekt", did you mean "inspect"?'],
    [['tokens', '--json', 'inspect'], 'the verb comes first: millrace tokens <verb>'],
  ])('%j exits with 2: %s', async (args, message) => {
    const { code, stdout, stderr } = await millrace(...args)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(message)
  })

  it.each([
    [['inspect'], 'needs FILES'],
    [['inspect', 'x', '--format', 'megatrom'], 'did you mean megatron?'],
    [['convert', 'x', '--out', 'y'], 'needs --to FORMAT'],
    [['convert', 'x', '--to', 'olmo', '--out', 'y'], '--to is one of megatron, nanogpt, llmc, npy'],
    [['split', 'x', '--out', 'y', '--ratios', '1,b'], '--ratios wants numbers'],
    [['split', 'x', '--out', 'y', '--ratios', '1,1', '--names', 'a,a'], '--names wants 2 different names'],
    [['split', 'x', '--out', 'y'], 'needs --ratios A,B,… or --documents N'],
    [['show', 'x', '--row', '3'], '--row N and --length N go together'],
  ])('%j: %s', async ([name, ...words], message) => {
    const verb = await verbs[name]()
    const run = async () => verb.run(parse(verb, words))
    await expect(run()).rejects.toThrow(message)
    await expect(run()).rejects.toThrow(UsageError)
  })
})

it('inspect tells format, type, documents and tokens', async () => {
  const { code, stdout } = await millrace('tokens', 'inspect', join(golden, 'u*.bin'), '--json')
  expect(code).toBe(0)
  const { files, total } = JSON.parse(stdout)
  expect(files[0]).toMatchObject({
    format: 'megatron',
    dtype: 'u16',
    documents: 300,
    tokens: 5319,
    shortest: 1,
    longest: 40,
  })
  expect(total).toMatchObject({ documents: 330, tokens: 5819 })
  const text = await millrace('tokens', 'inspect', join(golden, 'u*.bin'))
  expect(text.stdout).toMatch(/^together +330 +5,819 +0 +17\.6 +40/m)
})

it('verify names what is wrong, goes on with other files, exits with 1, and repairs', async () => {
  const folder = copies('u16.bin', 'u16.idx', 'blendcorpus.bin', 'blendcorpus.idx')
  writeFileSync(join(folder, 'broken.idx'), 'MMIDIDX')
  writeFileSync(join(folder, 'broken.bin'), 'ab')
  const all = join(folder, '*.bin')
  const bad = await millrace('tokens', 'verify', all, '--vocabulary', '50257', '--eod', '50256')
  expect(bad.code).toBe(1)
  expect(bad.stdout).toMatch(/bad: .*broken\.idx has 7 bytes, but its header takes 34/)
  expect(bad.stdout).toMatch(
    /bad: .*blendcorpus\.idx leaves out the token at the end of each document, 50256/,
  )
  expect(bad.stdout).toMatch(/3 files, 303 documents, .*: 2 bad files/)
  const mended = await millrace('tokens', 'verify', join(folder, 'blendcorpus'), '--repair')
  expect(mended.code).toBe(0)
  expect(mended.stdout).toMatch(/repaired: .*blendcorpus\.idx\.before/)
  const again = await millrace('tokens', 'verify', join(folder, 'blendcorpus'), '--eod', '50256', '--json')
  expect(JSON.parse(again.stdout)).toMatchObject({ bad: 0, files: [{ documents: 3, problems: [] }] })
})

it('convert, split, merge and show', async () => {
  const folder = copies('nanogpt.bin')
  const at = (name: string) => join(folder, name)
  const made = await millrace(
    'tokens',
    'convert',
    at('nanogpt.bin'),
    '--to',
    'megatron',
    '--eod',
    '50256',
    '--out',
    at('m'),
  )
  expect(made.stderr).toMatch(/notice: .*taken as u16/)
  expect(made.stdout).toMatch(/m\.bin: megatron of u16, 40 documents, 664 tokens/)
  const twice = await millrace(
    'tokens',
    'convert',
    at('nanogpt.bin'),
    '--to',
    'megatron',
    '--eod',
    '50256',
    '--out',
    at('m'),
  )
  expect(twice.code).toBe(1)
  expect(twice.stderr).toMatch(/m\.bin is there already: choose another name, or replace it \(--overwrite\)/)
  const split = await millrace('tokens', 'split', at('m'), '--ratios', '8,1,1', '--out', at('part'), '--json')
  expect(JSON.parse(split.stdout).written.map((one: { documents: number }) => one.documents)).toEqual([
    32, 4, 4,
  ])
  const parts = ['train', 'val', 'test'].map(name => at(`part-${name}`))
  await millrace('tokens', 'merge', ...parts, '--out', at('m'), '--overwrite')
  const back = await millrace(
    'tokens',
    'convert',
    at('m'),
    '--to',
    'nanogpt',
    '--eod',
    '50256',
    '--out',
    at('back'),
  )
  expect(back.code).toBe(0)
  expect(readFileSync(at('back.bin')).equals(readFileSync(at('nanogpt.bin')))).toBe(true)
  const shown = await millrace('tokens', 'show', at('m'), '--document', '1', '--json')
  const { stream } = JSON.parse(readFileSync(join(golden, 'expected.json'), 'utf8'))
  expect(JSON.parse(shown.stdout).tokens).toEqual(stream[1])
})

it('show decodes with a tokenizer', async () => {
  const folder = temporaryFolder()
  const ids = [...Array(256).keys()]
  writeFileSync(join(folder, 'x.bin'), Uint16Array.from(ids))
  const { code, stdout, stderr } = await millrace(
    ...['tokens', 'show', join(folder, 'x.bin'), '--dtype', 'u16', '--row', '1', '--length', '20'],
    ...['--tokenizer', 'millrace-4k', '--json'],
  )
  expect([code, stderr]).toEqual([0, ''])
  const { text, tokens } = JSON.parse(stdout)
  expect(tokens).toEqual(ids.slice(20, 41))
  expect(typeof text).toBe('string')
  expect(text.length).toBeGreaterThan(0)
})

describe('a full disk', () => {
  it('or a limit on the size of files is told, and leaves nothing', async () => {
    const folder = copies('u16.bin', 'u16.idx')
    const { code, stderr } = await start(
      [
        'tokens',
        'convert',
        join(folder, 'u16'),
        '--to',
        'megatron',
        '--to-dtype',
        'i64',
        '--out',
        join(folder, 'x'),
      ],
      { shell: 'ulimit -f 16' },
    ).ended
    expect(stderr).toMatch(/x\.bin reached the limit on the size of files: raise `ulimit -f`/)
    expect(code).toBe(1)
    expect(readdirSync(folder).sort()).toEqual(['u16.bin', 'u16.idx'])
  })

  it('is told before anything is written where that is foreseen', async ({ skip }) => {
    const folder = copies('u16.bin', 'u16.idx')
    const small = join(folder, 'small')
    mkdirSync(small)
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16k', 'tmpfs', small]).status === 0
    if (!mounted) skip('a small tmpfs can not be mounted here')
    try {
      const convert = (dtype: string) =>
        millrace(
          'tokens',
          'convert',
          join(folder, 'u16'),
          '--to',
          'megatron',
          '--to-dtype',
          dtype,
          '--out',
          join(small, 'x'),
        )
      expect((await convert('i32')).stderr).toMatch(
        /no room for .*x\.bin: it takes 21276 bytes, but \d+ are free/,
      )
      const later = await convert('u16')
      expect(later.stderr).toMatch(/disk full while writing .*x\.(bin|idx)/)
      expect(later.code).toBe(1)
      expect(readdirSync(small)).toEqual([])
    } finally {
      spawnSync('umount', [small])
    }
  })
})
