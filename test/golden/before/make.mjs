// Makes the golden files with a checkout of Millrace, built, of the commit that is to be kept compatible with:
//
//   node test/golden/before/make.mjs PATH-OF-THE-CHECKOUT [--data]
//
// --data makes data/ anew as well. Needs python3 with numpy.
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { fillFolder } from './folder.mjs'
import { makeData } from './make-data.mjs'

const here = import.meta.dirname
const checkout = resolve(process.argv[2])
const load = path => import(pathToFileURL(join(checkout, existsSync(join(checkout, 'build')) ? 'build' : 'dist', path)).href)

if (process.argv.includes('--data')) {
  rmSync(join(here, 'data/shards'), { recursive: true, force: true })
  makeData((await load('system/turbojpeg.js')).encodeJpeg)
  await makeIndexes()
}
rmSync(join(here, 'states'), { recursive: true, force: true })
mkdirSync(join(here, 'states'))
// First the states, then what follows after them.
const { states, python } = observe()
for (const [name, state] of Object.entries({ ...states, ...python.states }))
  writeFileSync(join(here, 'states', `${name}.json`), `${JSON.stringify(state)}\n`)
const { cli, ...seen } = observe()
const { printed, report } = cli
keep('feeds.json', seen.feeds)
keep('resumed.json', seen.resumed)
keep('protocol.json', seen.protocol)
keep('printed.json', printed)
// Which machine it was matters to no one.
writeFileSync(join(here, 'report.html'), report.replace(/"machine":"[^"]*"/, '"machine":"a machine"'))

function observe() {
  const folder = emptyFolder()
  const { status, signal, stdout } = spawnSync(
    process.execPath,
    [join(here, 'observe.mjs'), checkout, folder],
    { encoding: 'utf8', maxBuffer: 2 ** 28, stdio: ['ignore', 'pipe', 'inherit'] },
  )
  rmSync(folder, { recursive: true })
  if (status !== 0) throw new Error(`observe.mjs ended with ${status ?? signal}`)
  const found = JSON.parse(stdout)
  if (found.python.without) throw new Error(found.python.without)
  return found
}

function emptyFolder() {
  return mkdtempSync(join(tmpdir(), 'millrace-before-'))
}

function keep(name, value) {
  writeFileSync(join(here, name), `${JSON.stringify(value, null, 1)}\n`)
}

/** The indexes that the checkout writes beside the shards. */
async function makeIndexes() {
  const folder = emptyFolder()
  fillFolder(folder, checkout)
  const { open } = await load('index.js')
  const loader = open(
    {
      source: { tar: 'shards/train-{0000..0001}.tar' },
      fields: { label: { from: 'cls', as: 'int' } },
      batch: 4,
    },
    { root: folder, workers: 0 },
  )
  await loader.ready
  await loader.close()
  for (const name of readdirSync(join(folder, 'shards')).filter(name => !name.endsWith('.tar')))
    copyFileSync(join(folder, 'shards', name), join(here, 'data/shards', name))
  rmSync(folder, { recursive: true })
}
