import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../../../test/support/until.js'
import { VERBS } from '../../cli/verbs.js'
import { CLI, jpeg, millrace, pictureFolder, start, temporary } from '../prepare/helpers.js'

const INLINE = JSON.stringify({
  source: { synthetic: { count: 8, images: { width: 8, height: 8 } } },
  fields: { label: { from: 'cls', as: 'int' } },
  batch: 4,
})

let folder: string
beforeAll(() => {
  folder = temporary()
  pictureFolder(join(folder, 'pictures'), ['ant', 'bee'], 4)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('help', () => {
  it('lists every verb', async () => {
    const { code, stdout } = await millrace('--help')
    expect(code).toBe(0)
    for (const verb of Object.keys(VERBS)) expect(stdout).toMatch(new RegExp(`^  ${verb} +\\S`, 'm'))
  })

  it.each(Object.keys(VERBS))('of %s has usage, options and an example', async name => {
    const verb = await VERBS[name]()
    expect(verb.name).toBe(name)
    expect(verb.summary).not.toMatch(/\.$/)
    expect(verb.examples.length).toBeGreaterThan(0)
    for (const [line] of verb.examples) expect(line).toMatch(new RegExp(`^millrace ${name}( |$)`))
    for (const option of Object.values(verb.options)) expect(option.about).not.toBe('')
  })

  it('of a verb is shown by --help, before anything is asked for', async () => {
    const { code, stdout } = await millrace('pack', '--help')
    expect(code).toBe(0)
    expect(stdout).toContain('millrace pack SRC [options]')
    expect(stdout).toContain('--shard-size')
    expect(await millrace('help', 'pack')).toMatchObject({ code: 0, stdout })
  })
})

describe('a wrong command line', () => {
  it.each([
    [['inspekt', 'x'], 'did you mean "inspect"?'],
    [['pack', 'x', '--ouz', 'y'], 'did you mean --out?'],
    [['pack', 'x'], 'needs --out DIR'],
    [['pack', 'x', '--out', 'y', '--shards', '2', '--per-shard', '3'], 'not several'],
    [['pack', 'x', '--out', 'y', '--prefix', 'a/b'], "--prefix is the beginning of a file's name"],
    [['pack', 'x', '--out', 'y', '--workers', '-1'], '--workers wants a whole number from 0'],
    [['verify', 'x', '--workers', '99999'], '--workers wants a whole number from 0 to 512, not "99999"'],
    [['bench', INLINE, '--out', process.execPath], 'is a file: results go into a folder'],
    [['run', INLINE, '--depth', '33'], '--depth: expected a whole number from 1 to 32, found 33'],
    [['run', INLINE, '--timeout', '0'], '--timeout: expected seconds, more than 0'],
    [['run', INLINE, '--step-ms', '-5'], '--step-ms wants a number from 0'],
    [['demo', '--samples', '20'], '--samples wants a whole number from 32'],
    [['diagnose', '--evidence', 'x', '--step-ms', '9'], '--step-ms is for a FEED, --loader or --attach'],
    [['diagnose', 'x.json', '--ring', 'cats'], '--ring is for a running trainer'],
    [['diagnose', '--attach', '1', '--workers', '2'], '--workers, --affinity and --depth are for a FEED'],
    [['order-quality', INLINE], 'was removed: `millrace inspect FEED` says'],
    [['inspect'], 'needs PATH'],
    [['--fast'], 'the verb comes first'],
  ])('%j exits with 2: %s', async (args, message) => {
    const { code, stdout, stderr } = await millrace(...args)
    expect(code).toBe(2)
    expect(stdout).toBe('')
    expect(stderr).toContain(message)
    expect(stderr.trim().split('\n')).toHaveLength(1)
  })
})

describe('errors', () => {
  it('name an --out of pack that lies in the source', async () => {
    const pictures = join(folder, 'pictures')
    const link = join(folder, 'link-to-pictures')
    symlinkSync(pictures, link)
    for (const [source, out] of [
      [pictures, pictures],
      [pictures, join(pictures, 'shards')],
      [pictures, link],
      [link, join(pictures, 'shards')],
    ]) {
      const { code, stderr } = await millrace('pack', source, '--out', out)
      expect({ code, stderr }).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('lies in the source'),
      })
    }
    const packed = join(folder, 'packed')
    expect(await millrace('pack', pictures, '--out', packed)).toMatchObject({ code: 0 })
    const again = await millrace('pack', `${packed}/*.tar`, '--out', packed, '--prefix', 'other')
    expect(again.stderr).toContain(`--out ${packed} lies in the source`)
    expect(readdirSync(packed).filter(name => name.startsWith('other'))).toEqual([])
  })

  it('name a path of serve that is too long for a socket', async () => {
    const { code, stderr } = await millrace('serve', '--socket', join(folder, 'x'.repeat(120)))
    expect(code).toBe(1)
    expect(stderr).toMatch(/more than the 107 of a socket's path: take a shorter one/)
  })

  it('say where serve listens, and which folder it made', async () => {
    const socket = join(folder, 'made', 'here', 'engine.sock')
    const { child, ended } = start(['serve', '--socket', socket, '--stay'])
    await until(() => existsSync(socket))
    child.kill('SIGTERM')
    const { stderr } = await ended
    expect(stderr).toContain(`notice: made the folder ${join(folder, 'made')}, which no other user can enter`)
    expect(stderr).toContain(`notice: listening at ${socket}`)
  })

  it('are one line and exit status 1; the stack comes when it is asked for', async () => {
    const plain = await millrace('inspect', join(folder, 'nothing'))
    expect(plain.code).toBe(1)
    expect(plain.stderr).toMatch(/^millrace: there is nothing at .*nothing: give a folder/)
    expect(plain.stderr.trim().split('\n')).toHaveLength(1)
    const debug = await start(['inspect', join(folder, 'nothing')], { env: { MILLRACE_DEBUG: '1' } }).ended
    expect(debug.stderr).toContain('    at ')
  })

  it('that too few files may be open are told as a limit', () => {
    const command = `ulimit -n 64; exec "$0" "$@"`
    const words = ['-c', command, process.execPath, CLI, 'run', INLINE, '--workers', '1']
    const { status, stderr } = spawnSync('bash', words, { encoding: 'utf8' })
    expect(stderr).toMatch(/^millrace: 1 workers need .*the limit is 64.*`ulimit -n`\n$/)
    expect(status).toBe(1)
  })

  it('and all that is printed have no characters that a terminal would act on', async () => {
    const wicked = join(folder, 'wicked')
    const name = 'x\n9 samples: all good\r\x1b[2J'
    pictureFolder(wicked, ['ant', `bee${name}`], 2)
    writeFileSync(join(wicked, 'ant', `${name}.jpg`), 'no picture')
    const feed = JSON.stringify({
      source: { folder: wicked },
      fields: { image: { from: 'image', as: 'image', apply: [{ resize: [4, 4] }] } },
      batch: 1,
    })
    for (const words of [
      ['verify', wicked],
      ['inspect', wicked],
      ['run', feed],
      ['verify', `${wicked}${name}`],
    ]) {
      const { stdout, stderr } = await millrace(...words)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
      expect(stdout + stderr, words[0]).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f]|^9 samples/m)
      expect(stdout + stderr, words[0]).toContain('9 samples: all good\\r\\x1b[2J')
    }
  })

  it('of the system are one line, too', async () => {
    const file = join(folder, 'file')
    writeFileSync(file, '')
    const { code, stderr } = await millrace('pack', join(folder, 'pictures'), '--out', file)
    expect(code).toBe(1)
    expect(stderr).toBe(`millrace: can't mkdir ${file}: file already exists (EEXIST)\n`)
  })

  it.each(['save', 'ids', 'trace'])(
    'of a file for --%s that can not be written come before the run',
    async name => {
      const missing = join(folder, 'nowhere', 'x.json')
      const none = await millrace('run', INLINE, `--${name}`, missing)
      expect(none).toMatchObject({ code: 1, stdout: '' })
      expect(none.stderr).toBe(
        `millrace: --${name} ${missing}: there is no folder ${join(folder, 'nowhere')}\n`,
      )
      const taken = await millrace('run', INLINE, `--${name}`, folder)
      expect(taken.stderr).toBe(`millrace: --${name} ${folder}: that is a folder; give the name of a file\n`)
    },
  )

  it('of a module that never ends loading are told', async () => {
    const path = join(folder, 'never.mjs')
    writeFileSync(path, 'await new Promise(() => {})\n')
    const { code, stderr } = await millrace('run', path)
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('at the top of a module of yours does not end'),
    ])
  })

  it('of a log of ids that is none leave it as it is', async () => {
    const [state, log] = [join(folder, 'state.json'), join(folder, 'notes.txt')]
    expect((await millrace('run', INLINE, '--steps', '1', '--save', state)).code).toBe(0)
    writeFileSync(log, 'notes of mine\n')
    const { code, stderr } = await millrace('run', INLINE, '--resume', state, '--ids', log)
    expect(code).toBe(1)
    expect(stderr).toContain(`${log} is no log of ids`)
    expect(readFileSync(log, 'utf8')).toBe('notes of mine\n')
  })

  it('of a run from a position begin there, or say why not', async () => {
    const log = join(folder, 'at.jsonl')
    expect((await millrace('run', INLINE, '--steps', '1', '--position', '4', '--ids', log)).code).toBe(0)
    const [line] = readFileSync(log, 'utf8').split('\n')
    expect(JSON.parse(line)).toMatchObject({ epoch: 0, step: 1, position: 4 })
    const { code, stderr } = await millrace('run', INLINE, '--position', '2', '--resume', 'state.json')
    expect([code, stderr]).toEqual([2, expect.stringContaining('give one of them')])
  })

  it('of a feed where data is wanted say so', async () => {
    const feed = join(folder, 'feed.json')
    writeFileSync(feed, INLINE)
    const { code, stderr } = await millrace('pack', feed, '--out', join(folder, 'packed'))
    expect(code).toBe(1)
    expect(stderr).toBe(
      `millrace: ${feed} defines a feed; here its data is wanted: name the folder or the shards\n`,
    )
  })

  it('of inspect over several formats name them all', async () => {
    const mixed = join(folder, 'several')
    mkdirSync(join(mixed, 'pictures'), { recursive: true })
    for (const name of ['a.jsonl', 'b.jsonl']) writeFileSync(join(mixed, name), '{"x": 1}\n')
    writeFileSync(join(mixed, 'c.csv'), 'x\n1\n')
    const { stdout } = await millrace('inspect', mixed)
    expect(stdout).toMatch(/^source +\{"jsonl".*\nformats +2 files of jsonl, 1 file of csv;/m)
    mkdirSync(join(mixed, 'pictures/train/cat'), { recursive: true })
    for (const name of ['0', '1']) writeFileSync(join(mixed, `pictures/train/cat/${name}.jpg`), '')
    const { formats } = JSON.parse((await millrace('inspect', mixed, '--json')).stdout)
    expect(formats).toEqual({ jsonl: 2, csv: 1, picture: 2 })
  })

  it('of inspect and index: a feed stands for its source', async () => {
    const feed = join(folder, 'inspected.json')
    writeFileSync(feed, INLINE)
    const { source } = JSON.parse(INLINE)
    const inspected = await millrace('inspect', feed)
    expect(inspected.stderr).toBe('')
    expect(inspected.stdout).toContain(`source   ${JSON.stringify(source)}`)
    expect((await millrace('index', feed, '--json')).code).toBe(0)
  })

  it('of inspect: a .bin may be tokens', async () => {
    const file = join(folder, 'train.bin')
    writeFileSync(file, Buffer.alloc(64))
    const { stdout } = await millrace('inspect', file)
    expect(stdout).toContain(`if these are tokens: millrace tokens inspect ${file}`)
  })

  it('of inspect: a blend is told entry by entry', async () => {
    const { source } = JSON.parse(INLINE)
    const entries = [3, 1].map(weight => ({ name: `of ${weight}`, weight, source }))
    const feed = join(folder, 'blended.json')
    writeFileSync(feed, JSON.stringify({ ...JSON.parse(INLINE), source: { blend: { entries } } }))
    const reported = await millrace('inspect', feed)
    expect(reported.stderr).toBe('')
    expect(reported.stdout).toMatch(/of 3 +3 +synthetic +8 .*\n *of 1 +1 +synthetic +8 /)
    const { stdout } = await millrace('inspect', feed, '--json')
    expect(JSON.parse(stdout)).toMatchObject({
      kind: 'blend',
      entries: [{ name: 'of 3', weight: 3, samples: 8 }, { name: 'of 1' }],
    })
  })

  it('of a feed point into its definition', async () => {
    const feed = join(folder, 'typo.json')
    writeFileSync(feed, JSON.stringify({ source: { taar: 'x' }, fields: {}, batch: 1 }))
    const { code, stderr } = await millrace('verify', feed)
    expect(code).toBe(1)
    expect(stderr).toContain('did you mean "tar"')
  })
})

describe('output', () => {
  it('is one JSON object with --json', async () => {
    const { code, stdout } = await millrace('inspect', join(folder, 'pictures'), '--json')
    expect(code).toBe(0)
    expect(stdout.trim().split('\n')).toHaveLength(1)
    expect(JSON.parse(stdout)).toMatchObject({
      kind: 'folder',
      samples: 8,
      classes: [
        { label: '0', name: 'ant', samples: 4 },
        { label: '1', name: 'bee', samples: 4 },
      ],
      images: { looked: 8, bad: 0, formats: { jpeg: 8 }, width: { least: 32, median: 32, most: 32 } },
    })
  })

  it('of verify is about a source that is given as JSON, too', async () => {
    const source = JSON.stringify({ files: join(folder, 'pictures/*/*.jpg') })
    const { code, stdout, stderr } = await millrace('verify', source, '--json')
    expect([code, stderr]).toEqual([0, ''])
    expect(JSON.parse(stdout)).toMatchObject({ samples: 8, badSamples: 0 })
  })

  it('counts pictures of several kinds, each by its own column', async () => {
    const mixed = join(folder, 'mixed')
    mkdirSync(mixed)
    for (const name of ['a.jpg', 'b.png', 'c.jpg']) writeFileSync(join(mixed, name), jpeg(name.length))
    writeFileSync(join(mixed, 'd.txt'), 'no picture')
    const { stdout } = await millrace('inspect', join(mixed, '*'), '--json')
    expect(JSON.parse(stdout).images).toMatchObject({ column: 'jpg|png', looked: 3, bad: 0 })
  })

  it('says version and health', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8'))
    expect((await millrace('--version')).stdout).toBe(`${version}\n`)
    const doctor = JSON.parse((await millrace('doctor', '--json')).stdout)
    expect(doctor.ok).toBe(true)
    const found = doctor.findings.map((finding: { what: string }) => finding.what)
    expect(found).toEqual(
      expect.arrayContaining(['Node', 'cores', 'memory', 'shared memory', 'TurboJPEG', 'libvips', 'GPU']),
    )
  })

  it('may be cut off by its reader', async () => {
    const child = spawn('bash', [
      '-c',
      `"$0" "$1" --help | head -1; echo "status \${PIPESTATUS[0]}"`,
      process.execPath,
      CLI,
    ])
    let text = ''
    child.stdout.on('data', data => (text += data))
    let complaints = ''
    child.stderr.on('data', data => (complaints += data))
    await new Promise(resolve => child.on('close', resolve))
    expect(text).toMatch(/^millrace .*\nstatus 0\n$/)
    expect(complaints).toBe('')
  })
})

it('a run log is called by the file of its feed; what is for processes of ours is not in the help', async () => {
  const logs = join(folder, 'named-logs')
  writeFileSync(
    join(folder, 'cats.json'),
    JSON.stringify({
      source: { synthetic: { count: 64, tensors: { shape: [1], dtype: 'u32' } } },
      fields: { number: { from: 'data', as: 'bytes', ragged: { max: 4 } } },
      batch: 4,
    }),
  )
  expect((await millrace('run', join(folder, 'cats.json'), '--log', logs)).code).toBe(0)
  expect(readdirSync(logs)).toEqual([expect.stringContaining('-cats.json-rank0-')])
  const { stdout } = await millrace('run', '--help')
  expect(stdout).toContain('--endless')
  expect(stdout).not.toContain('--starter')
})

it('the demo of text tokenises, blends and packs, and leaves a feed that runs', async () => {
  const out = join(folder, 'demo-text')
  const { code, stdout } = await millrace('demo', '--text', '--out', out, '--step-ms', '0', '--json')
  expect(code).toBe(0)
  const { tokenised, runs, feed } = JSON.parse(stdout)
  expect(tokenised.tokens).toBeGreaterThan(1e6)
  expect(runs.map(({ pack }: { pack: string }) => pack)).toEqual(['concat', 'bestFit'])
  expect(runs[0].padding).toBe(0)
  expect(runs[1].padding).toBeGreaterThan(0)
  expect(runs[1].padding).toBeLessThan(0.01)
  const run = await millrace('run', feed, '--steps', '3', '--json')
  expect(JSON.parse(run.stdout).samples).toBe(48)
})

it('the demo is made anew for another number of pictures', async () => {
  const out = join(folder, 'demo')
  const demo = (samples: string) => millrace('demo', '--out', out, '--samples', samples, '--step-ms', '0')
  expect((await demo('32')).code).toBe(0)
  const again = await demo('40')
  expect(again.code).toBe(0)
  // On a busy machine stderr also has progress.
  expect(again.stderr).not.toMatch(/error|warning/i)
  expect(again.stdout).toContain('40 JPEGs')
  expect(again.stdout).toContain(`diagnose ${join(out, 'feed.json')} --step-ms 0`)
  expect(again.stdout).toMatch(/samples\/s +GPU busy +lost/)
  expect(again.stdout).toMatch(/^naive: .+\.$/m)
  const page = readFileSync(join(out, 'report.html'), 'utf8')
  const { runs } = JSON.parse(/id="data">(.*?)<\/script>/s.exec(page)![1])
  for (const { parts, why } of runs) {
    expect(Object.values<number>(parts).reduce((sum, part) => sum + part)).toBeCloseTo(1, 2)
    expect(why).toMatch(/\w/)
  }
  expect((await millrace('run', join(out, 'feed.json'), '--json')).stdout).toContain('"samples":32')
})

it('run says where the time went, why, and what to do', async () => {
  const { code, stdout } = await millrace('run', INLINE, '--step-ms', '1', '--epochs', '3')
  expect(code).toBe(0)
  expect(stdout).toMatch(/^lost [\d.]+ % of the time: /m)
  const json = JSON.parse((await millrace('run', INLINE, '--step-ms', '1', '--epochs', '3', '--json')).stdout)
  expect(json.account.steps).toBe(json.steps - 1)
  expect(json.account).toMatchObject({ idealFrom: 'given' })
  expect(json.account.host.seconds).toBeGreaterThan(0)
  expect(Object.values<number>(json.account.parts).reduce((sum, part) => sum + part)).toBeCloseTo(1, 9)
  expect(json.diagnosis).toMatchObject({ lost: json.account.lost, verdict: 'inconclusive' })
  expect(Object.keys(json)).toEqual(expect.arrayContaining(['hashes', 'waitFraction', 'au', 'state', 'bad']))
})

describe('index', () => {
  it('builds once, and again by force', async () => {
    const out = join(folder, 'shards')
    expect((await millrace('pack', join(folder, 'pictures'), '--out', out)).code).toBe(0)
    const built = JSON.parse((await millrace('index', out, '--json')).stdout)
    expect(built).toMatchObject({ kind: 'tar', samples: 8 })
    const sidecar = join(out, '.train-0000.tar.millrace')
    const before = readFileSync(sidecar)
    writeFileSync(sidecar, 'garbage')
    expect((await millrace('index', out, '--force')).code).toBe(0)
    expect(readFileSync(sidecar)).toEqual(before)
  })
})
