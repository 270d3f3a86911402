// Feeds nobody, for ever: reads a byte of every page of a batch, then writes a line.
//
//   node millrace_node.mjs FEED-AS-JSON WORKERS
import { writeSync } from 'node:fs'
import { open } from '../../../dist/index.js'

const PAGE = 4096
const loader = open(JSON.parse(process.argv[2]), { workers: Number(process.argv[3]), epochs: null })
process.on('SIGTERM', () => process.exit())
for await (const batch of loader) {
  const { buffer, byteOffset, byteLength } = batch.image
  const bytes = new Uint8Array(buffer, byteOffset, byteLength)
  let seen = 0
  for (let i = 0; i < bytes.length; i += PAGE) seen |= bytes[i]
  writeSync(1, seen === 0 ? 'empty\n' : 'batch\n')
}
