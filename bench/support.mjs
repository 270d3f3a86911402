// What every benchmark here needs: the machine in words, medians, interleaved rounds, and a place for the results.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, release, totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = join(dirname(fileURLToPath(import.meta.url)), '..')

export function stamp() {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return {
    date: new Date().toISOString(),
    machine: `${availableParallelism()} × ${cpus()[0].model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}`,
    versions: { millrace: version, node: process.versions.node },
    commit: git(),
  }
}

function git() {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()
  } catch {
    return undefined
  }
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** Runs the contenders in turn, `rounds` times, and gives the median, least and greatest of each. */
export async function interleaved(contenders, rounds) {
  const results = Object.fromEntries(Object.keys(contenders).map(name => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of Object.entries(contenders)) {
      results[name].push(await run())
      process.stderr.write(`round ${round + 1}/${rounds} ${name}: ${results[name].at(-1).toFixed(1)}\n`)
    }
  }
  return Object.fromEntries(
    Object.entries(results).map(([name, values]) => [
      name,
      { median: median(values), min: Math.min(...values), max: Math.max(...values), values },
    ]),
  )
}

/** Keeps a result under bench/results/ when asked to with --save. */
export function keep(name, result) {
  console.log(JSON.stringify(result, null, 2))
  if (!process.argv.includes('--save')) return
  const folder = join(root, 'bench/results')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(result, null, 2)}\n`)
}
