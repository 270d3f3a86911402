// Compiles each kernels/assembly/<name>.ts (AssemblyScript) of the rooms below to kernels/<name>.wasm.
// The .wasm files are committed, so that installing needs no compiler. `--check` compiles to memory and fails
// when a committed file differs; names given as arguments restrict the run to those kernels.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import asc from 'assemblyscript/asc'

const packages = join(dirname(fileURLToPath(import.meta.url)), '..', 'packages')
const check = process.argv.includes('--check')
const wanted = process.argv.slice(2).filter(name => !name.startsWith('-'))

let failed = false
for (const room of ['pixels/transform', 'core/codec', 'llm/tokenize', 'llm/tokens', 'llm/prepare/tokenize']) {
  const folder = join(packages, room, 'kernels')
  const names = readdirSync(join(folder, 'assembly'))
    .filter(file => file.endsWith('.ts'))
    .map(file => file.slice(0, -3))
    .filter(name => wanted.length === 0 || wanted.includes(name))
  for (const name of names) {
    const problem = await build(folder, name)
    if (problem === undefined) continue
    console.error(`kernel ${name}: ${problem}`)
    failed = true
  }
}
process.exit(failed ? 1 : 0)

/** Compiles one kernel; returns what is wrong with it, if anything. */
async function build(folder, name) {
  let bytes
  const { error, stderr } = await asc.main(
    [
      `${name}.ts`,
      ...['--baseDir', join(folder, 'assembly')],
      ...['--outFile', `${name}.wasm`, '-O3', '--noAssert', '--runtime', 'stub'],
      ...['--importMemory', '--sharedMemory', '--maximumMemory', '65536'],
      ...['--enable', 'simd,threads,bulk-memory'],
    ],
    {
      writeFile: (file, contents) => {
        if (file === `${name}.wasm`) bytes = contents
      },
    },
  )
  if (error || bytes === undefined) return `does not compile\n${stderr}`
  const problem = inspect(bytes)
  if (problem !== undefined) return problem
  const file = join(folder, `${name}.wasm`)
  if (check) {
    const same = existsSync(file) && Buffer.compare(readFileSync(file), bytes) === 0
    return same ? undefined : 'the committed .wasm is not what its source compiles to: run npm run kernels'
  }
  writeFileSync(file, bytes)
  console.log(`${name}.wasm ${bytes.length} bytes`)
}

/** A kernel's memory is the slot arena itself: the module must not own or initialise a single byte of it. */
function inspect(bytes) {
  const forbidden = {
    5: 'a memory of its own',
    8: 'a start function',
    11: 'a data section',
    12: 'a data count',
  }
  for (let at = 8; at < bytes.length; ) {
    const id = bytes[at++]
    let size = 0
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++]
      size |= (byte & 0x7f) << shift
      if (byte < 0x80) break
    }
    if (id in forbidden)
      return `the module has ${forbidden[id]}: use no strings, no objects, no static arrays`
    at += size
  }
}
