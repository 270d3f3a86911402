/** What a newcomer copies first runs as it stands: the README's spellings of a feed, the first program for Node, and the monitors of the guide about measuring. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { temporaryFolder } from './support/folder.js'
import { jpeg } from './support/pictures.js'
import { withoutPython } from './support/python.js'

const repository = join(import.meta.dirname, '..')
const folder = temporaryFolder()
/** Batches are of 256, and a batch that is not full is left out. */
const PICTURES = 300

/** The first piece of code in a language on a page. */
function first(language: string, page: string): string {
  const text = readFileSync(join(repository, page), 'utf8')
  const code = new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, 'm').exec(text)
  if (code === null) throw new Error(`${page} has no ${language}`)
  return code[1]
}

beforeAll(() => {
  for (let i = 0; i < PICTURES; i++) {
    const place = join(folder, 'photos/train', i % 3 === 0 ? 'cat' : 'dog')
    mkdirSync(place, { recursive: true })
    writeFileSync(join(place, `${i}.jpg`), jpeg(i, 16))
  }
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(repository, join(folder, 'node_modules/millrace'))
})

const node = async (...words: string[]): Promise<string> =>
  (await promisify(execFile)(process.execPath, words, { cwd: folder })).stdout

/** Runs a program that calls `train`, and gives what that was called with, a line a batch. */
async function trained(program: string, code: string): Promise<string[]> {
  const train =
    'function train(...arrays) { console.log(arrays.map(a => a.constructor.name + " " + a.length).join()) }'
  writeFileSync(join(folder, program), `${code}\n${train}\n`)
  return (await node(program)).trim().split('\n')
}

const BATCH = `Float32Array ${256 * 3 * 224 * 224},BigInt64Array 256`

test("the README's JSON", async () => {
  const json = first('json', 'README.md')
  writeFileSync(join(folder, 'photos.json'), json)
  const run = JSON.parse(await node(join(repository, 'dist/cli/main.js'), 'run', 'photos.json', '--json'))
  expect(run).toMatchObject({ steps: 1, samples: 256, bad: { count: 0 } })
})

test("the README's TypeScript, which is JavaScript as well, is the same feed", async () => {
  const code = first('ts', 'README.md')
  expect(await trained('readme.mjs', code)).toEqual([BATCH])
  const shown = await trained(
    'same.mjs',
    `${code.split('for await')[0]}console.log(JSON.stringify(photos.json))`,
  )
  expect(JSON.parse(shown[0])).toEqual(JSON.parse(first('json', 'README.md')))
})

test.skipIf(withoutPython)("the README's Python is the same feed", async () => {
  // Without the loop, which wants a GPU.
  const code = first('python', 'README.md').split('\nfor batch')[0]
  const { stdout } = await promisify(execFile)(
    'python3',
    ['-c', `${code}\nimport json\nprint(json.dumps(feed.json()))`],
    {
      env: { ...process.env, PYTHONPATH: join(repository, 'python'), PYTHONDONTWRITEBYTECODE: '1' },
    },
  )
  expect(JSON.parse(stdout)).toEqual(JSON.parse(first('json', 'README.md')))
})

test('the first program for Node', async () => {
  const code = first('js', 'docs/start.md').replace('epoch < 90', 'epoch < 2')
  expect(await trained('train.mjs', code)).toEqual([BATCH, BATCH])
})

const NODE = ['Node', 'js', 'monitor.mjs', process.execPath] as const
const PYTHON = ['Python', 'python', 'monitor.py', 'python3'] as const
test.each(withoutPython ? [NODE] : [NODE, PYTHON])(
  'the monitor of the guide about measuring, in %s',
  async (_, language, file, command) => {
    const pages = readFileSync(join(repository, 'docs/measure.md'), 'utf8')
    const blocks = [...pages.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))]
    const code = blocks.find(([, text]) => text.includes(file))![1]
    writeFileSync(join(folder, file), code)
    writeFileSync(
      join(folder, 'fed.mjs'),
      `import { feed, int, open, synthetic } from 'millrace'
     const images = { width: 32, height: 32 }
     const small = feed({ source: synthetic({ count: 100, images }), fields: { label: int('cls') }, batch: 10 })
     for await (const { step } of open(small, { epochs: null, workers: 1 })) {
       if (step === 0) console.log('goes')
       await new Promise(later => setTimeout(later, 5))
     }`,
    )
    const fed = spawn(process.execPath, ['fed.mjs'], { cwd: folder })
    const env = { ...process.env, PYTHONPATH: join(repository, 'python'), PYTHONDONTWRITEBYTECODE: '1' }
    try {
      await once(fed.stdout, 'data')
      const monitor = spawn(command, [file, String(fed.pid)], { cwd: folder, env })
      const ended = once(monitor, 'close')
      let said = ''
      const seen = new Promise<void>(resolve => {
        const hear = (text: Buffer): void => {
          said += text
          if (said.includes('trainer 0 step')) resolve()
        }
        monitor.stdout.on('data', hear)
        monitor.stderr.on('data', hear)
      })
      await Promise.race([seen, ended])
      // It ends with the process that it looks at.
      fed.kill('SIGKILL')
      expect([(await ended)[0], said]).toEqual([0, expect.stringMatching(/trainer 0 step.*\d+ lost/)])
    } finally {
      fed.kill('SIGKILL')
    }
  },
)
