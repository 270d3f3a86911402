// Cases by Millrace, with two workers where a case has no other number: node bench/formats/feed.mjs FOLDER SHARDS. A line of input is a case and seconds in JSON; so is the answer.
import { createInterface } from 'node:readline'
import { open } from '../../dist/index.js'
import { through } from '../loops.mjs'
import { cases } from './cases.mjs'

const [folder, shards] = process.argv.slice(2)
const all = cases(folder, shards)

/** As long as rivals have (rivals.py). */
const WARM = 1

async function turn({ name, seconds }) {
  const { feed, options, each } = all[name]
  const measured = { workers: 2, ...options, warmSeconds: WARM, epochs: 1_000_000, seconds }
  const { rows, ms, cpuMs } = await through(open, feed, measured)
  return { units: rows * each, seconds: ms / 1000, cpu: cpuMs / 1000 }
}

for await (const line of createInterface({ input: process.stdin })) {
  const answer = await turn(JSON.parse(line)).catch(error => ({ failed: String(error) }))
  console.log(JSON.stringify(answer))
}
