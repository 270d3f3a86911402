import { describe, expect, it, vi } from 'vitest'
import { command, help, parse, UsageError } from '../../cli/command.js'
import { optionsOf } from '../../cli/option-flags.js'

const verb = command({
  name: 'mill',
  summary: 'grinds',
  args: [
    { name: 'GRAIN', about: 'what to grind' },
    { name: 'MORE', about: 'and more', optional: true },
  ],
  options: {
    out: { type: 'text', value: 'DIR', about: 'where it goes' },
    stones: { type: 'count', default: 2, about: 'how many', least: 1 },
    speed: { type: 'number', about: 'turns a second' },
    size: { type: 'bytes', about: 'at most' },
    fine: { type: 'flag', short: 'f', about: 'fine flour' },
  },
  examples: [['millrace mill rye', 'rye flour']],
  run: async () => ({ json: {}, text: '' }),
})

const problem = (...words: string[]) => {
  try {
    parse(verb, words)
  } catch (error) {
    if (error instanceof UsageError) return error.message
    throw error
  }
  return 'no problem'
}

describe('parse', () => {
  it('reads arguments and options of every type, in any order', () => {
    const call = parse(verb, ['rye', '--stones', '3', '--size=1.5MiB', '-f', '--out', 'bag', '--json'])
    expect(call.args).toEqual(['rye'])
    expect(call.values).toMatchObject({ stones: 3, size: 1.5 * 2 ** 20, fine: true, out: 'bag' })
    expect(call.json).toBe(true)
  })

  it('takes ~ for the home folder where no shell did', () => {
    const home = process.env.HOME
    process.env.HOME = '/home/miller'
    try {
      const call = parse(verb, ['~/rye', '--out=~/bags', '~'])
      expect([...call.args, call.values.out]).toEqual([
        '/home/miller/rye',
        '/home/miller',
        '/home/miller/bags',
      ])
      expect(parse(verb, ['./~/rye', 'a~/b']).args).toEqual(['./~/rye', 'a~/b'])
    } finally {
      process.env.HOME = home
    }
  })

  it('fills in defaults, and leaves what is not given undefined', () => {
    expect(parse(verb, ['rye']).values).toMatchObject({ stones: 2, fine: false, out: undefined })
  })

  it('tells in a notice of an option that is gone, with its value', () => {
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    try {
      expect(parse({ ...verb, name: 'run' }, ['--alert', 'lost>5%', 'rye']).args).toEqual(['rye'])
      expect(written).toHaveBeenCalledExactlyOnceWith(
        expect.stringMatching(/^notice: --alert has no effect any more: let Prometheus watch .*\n$/),
      )
      expect(problem('--alert', 'lost>5%', 'rye')).toContain('millrace mill has no option --alert')
    } finally {
      written.mockRestore()
    }
  })

  it('takes what stands after -- as it is', () => {
    expect(parse(verb, ['--', '--out']).args).toEqual(['--out'])
  })

  it('says what is wrong, and what was meant', () => {
    expect(problem('rye', '--stoens', '3')).toContain('no option --stoens, did you mean --stones?')
    expect(problem('rye', '-x')).toContain('no option -x')
    for (const stones of ['many', '0', '-1', '1.5', ' '])
      expect(problem('rye', '--stones', stones)).toBe(`--stones wants a whole number from 1, not "${stones}"`)
    expect(problem('rye', '--speed', '1.5')).toBe('no problem')
    expect(problem('rye', '--speed', '-1')).toBe('--speed wants a number from 0, not "-1"')
    expect(problem('rye', '--size', '3 bags')).toContain('an amount such as 256MiB')
    expect(problem('rye', '--out')).toBe('--out needs a value: --out DIR')
    expect(problem('rye', '--fine=yes')).toBe('--fine takes no value')
    expect(problem()).toContain('needs GRAIN (what to grind)')
    expect(problem('rye', 'wheat', 'oats')).toContain('does not know what to do with "oats"')
  })

  it('takes a number of workers, or auto', () => {
    const workers = (text: string) => optionsOf('run', { workers: text }).workers
    expect([workers('auto'), workers('0')]).toEqual(['auto', 0])
    expect(() => workers('all')).toThrow('expected a whole number from 0 to 256, or "auto", found "all"')
  })

  it('asks for nothing when help is wanted', () => {
    expect(parse(verb, ['--help']).help).toBe(true)
  })
})

it('help shows arguments, options with their defaults, and an example', () => {
  const text = help(verb)
  expect(text).toContain('millrace mill GRAIN [MORE] [options]')
  expect(text).toMatch(/--out DIR +where it goes/)
  expect(text).toMatch(/--stones N +how many \(2\)/)
  expect(text).toMatch(/-f, --fine +fine flour/)
  expect(text).toContain('# rye flour\n  millrace mill rye')
})
