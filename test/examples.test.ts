/** The examples run, as their first comments say. They need dist/, which `npm test` builds first. */
import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { temporaryFolder } from './support/folder.js'

const repository = join(import.meta.dirname, '..')
const millrace = join(repository, 'dist/cli/main.js')
const examples = join(temporaryFolder(), 'examples')

/** Runs a program of Node's and gives what it prints. */
async function node(...words: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, words, { cwd: join(examples, '..') })
  return stdout
}

async function run(feed: string, ...words: string[]): Promise<Record<string, unknown>> {
  return JSON.parse(await node(millrace, 'run', feed, '--json', ...words))
}

beforeAll(async () => {
  if (!existsSync(millrace)) throw new Error('dist/ is missing: npm run build')
  // A copy, so that what the examples write is not written into the repository; packages are found as if installed.
  cpSync(join(repository, 'examples'), examples, {
    recursive: true,
    filter: path => !/examples\/(photos|shards|train\.state\.json)/.test(path),
  })
  const packages = join(examples, '../node_modules')
  mkdirSync(packages)
  symlinkSync(repository, join(packages, 'millrace'))
  symlinkSync(join(repository, 'node_modules/sharp'), join(packages, 'sharp'))
  await node('examples/make-data.mjs')
})

describe('examples', () => {
  test('each is named in the table', () => {
    const table = readFileSync(join(examples, 'README.md'), 'utf8')
    const files = readdirSync(examples).filter(name => /\.(mjs|ts|json|py)$/.test(name))
    expect(files.filter(name => !table.includes(`\`${name}\``))).toEqual([])
  })

  test('cats.feed.ts feeds its shards, and its variant all of them', async () => {
    expect(await run('examples/cats.feed.ts')).toMatchObject({ steps: 2, samples: 512, bad: { count: 0 } })
    expect(await run('examples/cats.feed.ts#val')).toMatchObject({ steps: 1, samples: 128 })
  })

  test('segmentation.feed.mjs delivers image, mask and boxes', async () => {
    const shown = await node('examples/look.mjs', 'examples/segmentation.feed.mjs')
    expect(shown).toContain('image: [16, 3, 64, 64] Float32Array')
    expect(shown).toContain('mask: [16, 64, 64] Uint8Array')
    expect(shown).toMatch(/boxes: \[\d+, 5\] Float32Array and 17 offsets/)
    expect(await run('examples/segmentation.feed.mjs')).toMatchObject({ steps: 4, samples: 64 })
  })

  test('generate/stripes.json says where its pictures come from', async () => {
    await expect(run('examples/generate/stripes.json', '--steps', '1', '--allow-code')).rejects.toThrow(
      'image, label are generated on the GPU: open it with device="cuda"',
    )
    await expect(run('examples/generate/stripes.json#val', '--steps', '1', '--allow-code')).rejects.toThrow(
      'generated on the GPU',
    )
  })

  test('blend.json feeds from both sources', async () => {
    expect(await run('examples/blend.json', '--steps', '4')).toMatchObject({ steps: 4, samples: 512 })
    expect(await node('examples/look.mjs', 'examples/blend.json')).toContain('origin: [128] Uint8Array')
    expect(await run('examples/blend.json#cutmix', '--steps', '2')).toMatchObject({ samples: 256 })
  })

  test('train.mjs comes to the same weights, stopped or not, whatever the workers', async () => {
    const weights = (text: string): string | undefined => /done; weights (\w+)/.exec(text)?.[1]
    const whole = weights(await node('examples/train.mjs', '--fresh', '--workers', '1'))
    expect(whole).toBeDefined()
    expect(await node('examples/train.mjs', '--fresh', '--stop-after', '40')).toContain('run again to go on')
    expect(weights(await node('examples/train.mjs', '--workers', '0'))).toBe(whole)
  })

  test('gpu_kernel.mjs runs its kernel, or says in a sentence that there is no GPU', async () => {
    const said = await node('examples/gpu_kernel.mjs', '--steps', '2')
    if (said.startsWith('this example needs a GPU')) {
      expect(said.trim().split('\n')).toHaveLength(1)
      expect(said).toMatch(/install|nvidia-smi/)
    } else expect(said).toMatch(/step 0: 64 images, means 0\.\d+/)
  })
})
