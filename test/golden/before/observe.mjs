// What a checkout of Millrace does with the feeds and the committed states: hashes, digests of everything delivered, the
// states it saves, what follows after the committed ones, and the form of what else it writes.
//
//   node observe.mjs CHECKOUT FOLDER     prints one JSON object: make.mjs keeps it, test/compatibility.test.ts compares it
//
// FOLDER is empty, and the caller's to remove.
//
// Only what users can reach is used (the package, the command line, the Python client, the protocol), so that the program
// is the same for a checkout of any age.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { feeds } from './feeds.mjs'
import { feedIn, fillFolder, relabelledShard } from './folder.mjs'
import { formOf } from './forms.mjs'
import { overProtocol } from './protocol.mjs'
import { states } from './states.mjs'

const checkout = resolve(process.argv[2])
const main = join(checkout, 'dist/cli/main.js')
const folder = resolve(process.argv[3])
fillFolder(folder, checkout)
process.env.MILLRACE_CACHE = join(folder, 'cache')
process.env.PYTHONPATH = join(checkout, 'python')
process.env.PYTHONDONTWRITEBYTECODE = '1'
for (const name of ['RANK', 'WORLD_SIZE', 'SLURM_PROCID', 'OMPI_COMM_WORLD_RANK', 'JOB_COMPLETION_INDEX'])
  delete process.env[name]

const { open } = await import(pathToFileURL(join(checkout, 'dist/index.js')).href)
const OPTIONS = { root: folder, allowCode: true, workers: 2, python: 'python3', notice: () => {} }

/** Runs a program to its end, and gives what it printed. */
function output(command, args) {
  return new Promise((done, fail) => {
    const child = spawn(command, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
    let [out, err] = ['', '']
    child.stdout.on('data', text => (out += text))
    child.stderr.on('data', text => (err += text))
    child.on('error', fail)
    child.on('close', code =>
      code === 0 ? done(out) : fail(new Error(`${args.join(' ')}: ${code}\n${err}`)),
    )
  })
}
const withoutPython = await output('python3', ['-c', 'import numpy']).then(
  () => undefined,
  error => `python3 with numpy is needed: ${error.message.trim().split('\n').at(-1)}`,
)
/** make.mjs looks once before there are states. */
const committed = name => existsSync(join(import.meta.dirname, 'states', `${name}.json`))
const possible = name => !(withoutPython && feedIn(folder, name).needs === 'python')

// ------------------------------------------------------------------ what is delivered

const bytesOf = view => Buffer.from(view.buffer, view.byteOffset, view.byteLength)

/** The feed to open, and the options; `batch` replaces its batch size. */
async function openFeed(name, more = {}, batch) {
  const { definition, module, options } = feedIn(folder, name)
  const json = module ? (await import(pathToFileURL(join(folder, module)).href)).default : definition
  const changed = batch === undefined ? json : { ...json, batch: { ...json.batch, size: batch } }
  return open(changed, { ...OPTIONS, ...options, ...more })
}

/** Hashes of everything that a feed gives over its loops. */
async function delivered(name) {
  const { loops } = feedIn(folder, name)
  const loader = await openFeed(name)
  const hash = () => createHash('sha256')
  const [ids, rows, fields] = [hash(), hash(), {}]
  let [steps, samples, names] = [0, 0, []]
  try {
    await loader.ready
    for (let loop = 0; loop < loops; loop++) {
      for await (const batch of loader) {
        steps++
        samples += batch.count
        ids.update(JSON.stringify([batch.epoch, batch.position, batch.ids]))
        rows.update(bytesOf(batch.positions)).update(batch.valid)
        names = fieldNames(name)
        for (const field of names) {
          fields[field] ??= hash()
          fields[field].update(JSON.stringify(batch.shape(field)))
          const value = batch.get(field)
          if (Array.isArray(value)) fields[field].update(JSON.stringify(value))
          else if ('offsets' in value)
            fields[field].update(bytesOf(value.values)).update(bytesOf(value.offsets))
          else fields[field].update(bytesOf(value))
        }
      }
    }
    const digest = one => one.digest('hex').slice(0, 32)
    return {
      hashes: loader.hashes,
      steps,
      samples,
      bad: loader.stats().bad.count,
      ids: digest(ids),
      rows: digest(rows),
      fields: Object.fromEntries(names.map(field => [field, digest(fields[field])])),
    }
  } finally {
    await loader.close()
  }
}

function fieldNames(name) {
  const { definition } = feedIn(folder, name)
  return definition ? Object.keys(definition.fields) : ['label', 'note']
}

// ------------------------------------------------------------------ states

/** Saves a state as a program of this kind does. */
async function saved(name) {
  const { feed, by, steps, weights = {}, rank, world } = states[name]
  if (by === 'python') return undefined // observe.py does
  const ranks = world ? { rank, world } : {}
  if (by === 'cli') {
    const file = join(folder, `${name}.state`)
    const flags = Object.entries({ ...ranks, steps, save: file, workers: 0 }).flatMap(([n, v]) => [
      `--${n}`,
      `${v}`,
    ])
    await output(process.execPath, [main, 'run', definitionFile(feed), ...flags])
    return JSON.parse(readFileSync(file, 'utf8'))
  }
  const loader = await openFeed(feed, { ...ranks, epochs: null, steps })
  try {
    let step = 0
    for await (const _ of loader) if (weights[++step]) await loader.setWeights(weights[step])
    return loader.state()
  } finally {
    await loader.close()
  }
}

function definitionFile(name) {
  const file = join(folder, `${name.replaceAll(/\W+/g, '-')}.json`)
  writeFileSync(file, JSON.stringify(feedIn(folder, name).definition))
  return file
}

/** The ids of each step from a committed state to the end of the next epoch, of all ranks. */
async function resumed(name) {
  const { feed, then = [] } = states[name]
  const state = JSON.parse(readFileSync(join(import.meta.dirname, 'states', `${name}.json`), 'utf8'))
  const out = {}
  for (const { world = 1, batch } of [{}, ...then]) {
    const ranks = []
    for (let rank = 0; rank < world; rank++) {
      const loader = await openFeed(feed, { state, rank, world, epochs: 2 }, batch)
      const steps = []
      for await (const { epoch, position, ids } of loader) steps.push(`${epoch}:${position} ${ids.join(' ')}`)
      await loader.close()
      ranks.push(steps)
    }
    out[`world ${world}${batch ? `, batch ${batch}` : ''}`] = ranks
  }
  return out
}

/** The same by `millrace run --resume`. */
async function resumedByCli(name) {
  const ids = join(folder, `${name}.ids`)
  const state = join(import.meta.dirname, 'states', `${name}.json`)
  const file = definitionFile(states[name].feed)
  const flags = ['--resume', state, '--ids', ids, '--epochs', '2', '--workers', '0']
  await output(process.execPath, [main, 'run', file, ...flags])
  const lines = readFileSync(ids, 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  return lines.map(line => `${line.epoch}:${line.position} ${line.ids.join(' ')}`)
}

// ------------------------------------------------------------------ an index

/** Labels by the index that is in data/, and by one that is built anew; and what was said about indexes. */
async function indexed() {
  const file = relabelledShard(folder)
  const fields = { label: { from: 'cls', as: 'int', dtype: 'i32' } }
  const labels = async () => {
    const said = []
    const notice = text => said.push(text)
    const loader = open({ source: { tar: file }, fields, batch: 100 }, { ...OPTIONS, workers: 0, notice })
    let found
    for await (const batch of loader) found = [...batch.label]
    await loader.close()
    return { labels: found, notices: said }
  }
  const before = await labels()
  for (const name of readdirSync(dirname(file)).filter(name => name.endsWith('.millrace')))
    rmSync(join(dirname(file), name))
  return { before, anew: await labels() }
}

// ------------------------------------------------------------------ all of it

/** What becomes of each, by its name. */
async function each(names, use) {
  const out = {}
  for (const name of names) {
    const value = await use(name).catch(error =>
      Promise.reject(new Error(`${name}: ${error.message}`, { cause: error })),
    )
    if (value !== undefined) out[name] = value
  }
  return out
}

async function inNode() {
  // Keeps the pool of workers between feeds.
  const holder = await openFeed('order: none')
  await holder.ready
  try {
    return {
      feeds: await each(Object.keys(feeds).filter(possible), delivered),
      index: await indexed(),
      states: await each(Object.keys(states), saved),
      resumed: await each(Object.keys(states).filter(committed), resumed),
      resumedByCli: await each(['mid-epoch-cli', 'blend-weights'].filter(committed), resumedByCli),
    }
  } finally {
    await holder.close()
  }
}

async function byCli() {
  const file = definitionFile('source: tar')
  const flags = ['--workers', '2', '--json', '--epochs', '2']
  const printed = JSON.parse(await output(process.execPath, [main, 'run', file, ...flags]))
  const demo = join(folder, 'demo')
  await output(process.execPath, [
    main,
    'demo',
    '--out',
    demo,
    '--samples',
    '32',
    '--step-ms',
    '1',
    '--workers',
    '1',
  ])
  return {
    printed: formOf(printed),
    report: readFileSync(join(demo, 'report.html'), 'utf8'),
  }
}

async function inPython() {
  if (withoutPython) return undefined
  const named = Object.keys(feeds).filter(name => feedIn(folder, name).python)
  const asked = {
    feeds: Object.fromEntries(named.map(name => [name, definitionFile(name)])),
    states: Object.fromEntries(
      Object.entries(states).flatMap(([name, state]) =>
        state.by === 'python' ? [[name, { ...state, feed: definitionFile(state.feed) }]] : [],
      ),
    ),
    resumed: Object.fromEntries(
      ['mid-epoch', 'blend-weights-twice', 'mid-epoch-python'].filter(committed).map(name => [
        name,
        {
          feed: definitionFile(states[name].feed),
          state: join(import.meta.dirname, 'states', `${name}.json`),
        },
      ]),
    ),
  }
  writeFileSync(join(folder, 'asked.json'), JSON.stringify(asked))
  return JSON.parse(
    await output('python3', [join(import.meta.dirname, 'observe.py'), join(folder, 'asked.json')]),
  )
}

const [node, cli, python, protocol] = await Promise.all([
  inNode(),
  byCli(),
  inPython(),
  overProtocol(main, folder),
])
console.log(JSON.stringify({ ...node, cli, python: python ?? { without: withoutPython }, protocol }))
