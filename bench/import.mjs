// How long `import 'millrace'` takes in a fresh process, of two built checkouts in turns, as a table:
//   node bench/import.mjs --before PATH [--after .] [--rounds 20] [--out bench/results]
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { median, root, stamp } from './support.mjs'

const { values } = parseArgs({
  options: {
    before: { type: 'string' },
    after: { type: 'string', default: root },
    rounds: { type: 'string', default: '20' },
    out: { type: 'string', default: join(root, 'bench/results') },
  },
})
if (values.before === undefined) throw new Error('--before is missing: the folder of a built checkout')

/** The import alone (ms), and the whole process with it. */
function once(checkout) {
  const url = pathToFileURL(join(resolve(checkout), 'dist/index.js')).href
  const program = `const from = performance.now(); await import(${JSON.stringify(url)}); console.log(performance.now() - from)`
  const from = performance.now()
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
  return [Number(printed), performance.now() - from]
}

const commit = checkout =>
  execFileSync('git', ['-C', checkout, 'describe', '--always', '--dirty', '--exclude', '*'], {
    encoding: 'utf8',
  }).trim()
const sides = [values.before, values.after]
for (const side of sides) once(side) // so that files are in memory
const rounds = Array.from({ length: Number(values.rounds) }, (_, i) =>
  (i % 2 ? [1, 0] : [0, 1])
    .map(side => [side, once(sides[side])])
    .sort(([a], [b]) => a - b)
    .map(([, times]) => times),
)
const { date, machine, versions } = stamp()
const text = `# Importing millrace

${date}, ${machine}, Node ${versions.node}: \`node bench/import.mjs\`, ${rounds.length} fresh processes of each checkout, in turns.
Before is ${commit(values.before)}, after ${commit(values.after)}. The ratio is the median of the rounds' ratios.

| median | before | after | ratio |
| --- | --- | --- | --- |
${['import', 'whole process']
  .map((what, i) => {
    const [before, after] = [0, 1].map(side => median(rounds.map(round => round[side][i])))
    const ratio = median(rounds.map(([a, b]) => b[i] / a[i]))
    return `| ${what} | ${before.toFixed(0)} ms | ${after.toFixed(0)} ms | ${ratio.toFixed(2)} |`
  })
  .join('\n')}
`
mkdirSync(values.out, { recursive: true })
writeFileSync(join(values.out, 'import.md'), text)
console.log(text)
