/**
 * What a definition in JSON may not do: run code, unless the program that opens it allows it. Real processes; each
 * piece of code that is refused would leave a file behind.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { afterEach, describe, expect, test } from 'vitest'
import { feedModule, MILLRACE, open } from '../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { programs } from '../../../../test/support/program.js'
import { PythonModule, withoutPython, withPython } from '../../../../test/support/python.js'
import { LONGEST_WAIT } from '../../../../test/support/until.js'
import { PROTOCOL } from '../../../core/deliver/protocol-facts.js'

const CLI = join(import.meta.dirname, '../../../../dist/cli/main.js')
const folder = temporaryFolder()
const source = { synthetic: { count: 8, images: { width: 8, height: 8, classes: 4 } } }
const label = { from: 'cls', as: 'int' }

/** A module that says that it was run. */
const evidence = join(folder, 'was-run')
const evil = join(folder, 'evil.mjs')
writeFileSync(
  evil,
  `import { writeFileSync } from 'node:fs'\nwriteFileSync(${JSON.stringify(evidence)}, '')\n`,
)
const call = { call: { module: 'evil.mjs', export: 'f', hash: '0'.repeat(16) } }
const python = { payload: 'x.pickle', hash: '0', count: 8, name: 'x' }
const kernel = { file: 'gen.cu', entry: 'draw', count: 8, fields: { x: { dtype: 'f32', shape: [2] } } }

const mapped = { source, fields: { label: { ...label, map: call } }, batch: 4 }

function write(name: string, json: unknown): string {
  const file = join(folder, name)
  writeFileSync(file, JSON.stringify(json))
  return file
}

function millrace(...words: string[]) {
  return spawnSync(process.execPath, [CLI, ...words], {
    cwd: folder,
    encoding: 'utf8',
    timeout: LONGEST_WAIT,
  })
}

describe('a definition in JSON', () => {
  test.each([
    ['run', mapped, `fields.label.map.call: this is a function and would run code from ${evil}.`],
    ['run', { source, map: call, fields: { label }, batch: 4 }, 'map.call: this is a function'],
    [
      'verify',
      { source: { python }, fields: { label }, batch: 4 },
      'source.python: this is a dataset in Python',
    ],
    [
      'run',
      { source: { kernel }, batch: 4 },
      `source.kernel: this is a CUDA kernel and would run code from ${folder}/gen.cu`,
    ],
    [
      'inspect',
      {
        source: {
          blend: {
            entries: [
              { source, weight: 1 },
              { source: { subset: { source: { python }, range: [0, 4] } }, weight: 1 },
            ],
          },
        },
        fields: { label },
        batch: 4,
      },
      'source.blend.entries[1].source.subset.source.python: this is a dataset',
    ],
  ])('runs no code by itself: %s', (verb, json, problem) => {
    const file = write('feed.json', json)
    const { status, stderr } = millrace(verb, file)
    expect(stderr).toContain(`${file}: ${problem}`)
    expect(stderr).toContain('--allow-code')
    expect(status).not.toBe(0)
    expect(existsSync(evidence)).toBe(false)
  })

  test.each(['inspect', 'index', 'pack', 'verify'])('nor does a source given to %s', verb => {
    const out = verb === 'pack' ? ['--out', join(folder, 'shards')] : []
    const { status, stderr } = millrace(verb, JSON.stringify({ concat: [{ python }] }), ...out)
    expect(stderr).toMatch(
      verb === 'verify' ? /source|concat/ : /concat\[0\]\.python: this is a dataset in Python/,
    )
    expect(status).not.toBe(0)
  })

  test('nor does a variant of it', () => {
    const file = write('variant.json', {
      source,
      fields: { label },
      batch: 4,
      variants: { evil: { map: call } },
    })
    expect(millrace('run', file).status).toBe(0)
    expect(millrace('run', `${file}#evil`).stderr).toContain('map.call: this is a function')
  })

  test('does with --allow-code', () => {
    const { stderr } = millrace('run', write('feed.json', mapped), '--allow-code')
    expect(stderr).toContain('no function named "f"')
    expect(existsSync(evidence)).toBe(true)
  })

  test('names no interpreter', () => {
    const command = ['/bin/sh', '-c', `touch ${folder}/was-commanded`]
    for (const json of [
      { source: { python: { ...python, command } }, fields: { label }, batch: 4 },
      { source, fields: { label: { ...label, map: { call: { ...call.call, command } } } }, batch: 4 },
    ]) {
      const { status, stderr } = millrace('run', write('command.json', json), '--allow-code')
      expect(stderr).toMatch(/\.command: a definition does not name the interpreter: .*MILLRACE_PYTHON/)
      expect(status).not.toBe(0)
    }
    expect(existsSync(join(folder, 'was-commanded'))).toBe(false)
  })
})

describe('a program', () => {
  const module = (json: object) =>
    `feed({ source: synthetic(${JSON.stringify(source.synthetic)}), fields: { label: int('cls').map(v => v + 1) }, batch: 4, ...${JSON.stringify(json)} })`

  test('runs what it built itself, and what it allows', async () => {
    const built = await feedModule(folder, 'built.feed.mjs', `export default ${module({})}`)
    const first = async (feed: Parameters<typeof open>[0], options = {}) => {
      const loader = open(feed, { workers: 0, ...options })
      try {
        for await (const batch of loader) return Number((batch.get('label') as BigInt64Array)[1])
      } finally {
        await loader.close()
      }
    }
    expect(await first(built)).toBe(2)
    await expect(first(built.json)).rejects.toThrow(/fields\.label\.map\.call: .*allowCode: true in open\(\)/)
    await expect(first({ ...built } as never)).rejects.toThrow(/allowCode/)
    expect(await first(built.json, { allowCode: true })).toBe(2)
  })

  test('whose feed is a module runs by its name on the command line', async () => {
    await feedModule(folder, 'named.feed.mjs', `export default ${module({})}`)
    expect(millrace('run', 'named.feed.mjs', '--json').status).toBe(0)
    const json = JSON.stringify(mapped)
    await feedModule(
      folder,
      'passes-on.feed.mjs',
      `export default fromJson(${json}, ${JSON.stringify(folder)})`,
    )
    expect(millrace('run', 'passes-on.feed.mjs').stderr).toContain(
      'fields.label.map.call: this is a function',
    )
  })

  test.skipIf(withoutPython)('says in which interpreter', async () => {
    const user = new PythonModule('def double(value, rng): return value * 2')
    const json = { source, fields: { label: { ...label, map: user.call('double') } }, batch: 4 }
    const { run } = programs(folder)
    const code = (options: object) => `
      for await (const batch of open(${JSON.stringify(json)}, ${JSON.stringify({ workers: 0, ...options })}))
        console.log(batch.label.join())`
    expect((await run(code(withPython))).stdout).toBe('0,2,4,6\n0,2,4,6\n')
    expect((await run(code({ python: withPython.python }))).stderr).toContain('this is a function in Python')
  })
})

describe('a client of millrace serve', () => {
  const running: (() => void)[] = []
  afterEach(() => {
    for (const stop of running.splice(0)) stop()
  })

  /** What an engine says to a client that opens a feed, until it has said something like `expected` or refused. */
  async function reported(flags: readonly string[], request: object, expected: string): Promise<string> {
    const socket = join(temporaryFolder(), 's')
    const engine = spawn(process.execPath, [CLI, 'serve', '--socket', socket, ...flags], { stdio: 'ignore' })
    running.push(() => engine.kill('SIGKILL'))
    const connection = await connected(socket)
    running.push(() => connection.destroy())
    const open = { version: PROTOCOL, pid: process.pid, options: { workers: 1 }, ...request }
    connection.write(`${JSON.stringify({ id: 1, open })}\n`)
    let said = ''
    for await (const line of createInterface(connection)) {
      said += line
      if (line.includes(expected) || /"(error|failed)":/.test(line)) break
    }
    return said
  }

  async function connected(path: string): Promise<Socket> {
    for (const end = performance.now() + LONGEST_WAIT; ; ) {
      const socket = connect(path)
      const error = await new Promise<Error | undefined>(resolve => {
        socket.once('connect', () => resolve(undefined))
        socket.once('error', resolve)
      })
      if (!error) return socket
      if (performance.now() > end) throw error
      await new Promise(go => setTimeout(go, 20))
    }
  }

  const own = JSON.stringify(pathToFileURL(MILLRACE).href)
  const good = join(folder, 'good.feed.mjs')
  writeFileSync(
    good,
    `import { feed, int, synthetic } from ${own}
     export default feed({ source: synthetic(${JSON.stringify(source.synthetic)}), fields: { label: int('cls') }, batch: 4 })`,
  )

  test.each([
    ['vouches for nothing', ['--allow-code'], { feed: mapped }, 'this is a function and would run code'],
    [
      'vouches for another file',
      ['--allow-code'],
      { feed: mapped, allowCode: ['/other.mjs'] },
      'this is a function',
    ],
    ['vouches for it', ['--allow-code'], { feed: mapped, allowCode: true }, 'no function named'],
    ['vouches for the file', ['--allow-code'], { feed: mapped, allowCode: [evil] }, 'no function named'],
    [
      'vouches in vain',
      [],
      { feed: mapped, allowCode: true },
      'This engine was started without --allow-code',
    ],
    ['names a module', ['--allow-code'], { feedPath: good, allowCode: true }, '"opened"'],
    ['names a module in vain', [], { feedPath: good, allowCode: true }, 'to load it is to run it'],
  ])('that %s', async (_, flags, request, expected) => {
    expect(await reported(flags, { root: folder, ...request }, expected)).toContain(expected)
  })

  test('that chooses a variant of the feed of serve', async () => {
    const file = write('served.json', {
      source,
      fields: { label },
      batch: 4,
      variants: { evil: { map: call } },
    })
    expect(await reported([file], {}, '"opened"')).toContain('"opened"')
    const refused = 'this is a function'
    expect(await reported([file], { variant: 'evil' }, refused)).toContain(refused)
  })

  test('that names an interpreter for the module of serve', async () => {
    const file = join(folder, 'python.feed.mjs')
    writeFileSync(
      file,
      `import { feed, int } from ${own}
       export default feed({ source: { python: ${JSON.stringify(python)} }, fields: { label: int('label') }, batch: 4 })`,
    )
    // The command is not run: the engine's own interpreter says that it has nothing to load.
    const chosen = join(folder, 'was-chosen')
    const said = await reported([file], { python: ['/bin/sh', '-c', `touch ${chosen}`] }, '"failed"')
    expect(said).toContain('"failed"')
    expect(existsSync(chosen)).toBe(false)
  })
})
