// A client of `millrace serve`, by docs/protocol.md alone: what the engine answers to `open`, and the rows that workers
// leave to the GPU, by a hash of each.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { closeSync, openSync, readSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { deviceFeeds } from './feeds.mjs'
import { feedIn } from './folder.mjs'
import { formOf } from './forms.mjs'

const VERSION = 3
/** The engine makes all of an epoch at once: no slot is used twice. */
const DEPTH = 8

export async function overProtocol(main, folder) {
  const path = join(folder, 'private', 'engine.sock')
  const child = spawn(
    process.execPath,
    [main, 'serve', '--socket', path, '--stay', '--starter', String(process.pid), '--allow-code'],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  )
  try {
    const out = {}
    for (const name of Object.keys(deviceFeeds)) {
      const { definition } = feedIn(folder, name, deviceFeeds)
      const client = await Client.connect(path, child)
      const { opened } = await client.ask({
        open: {
          version: VERSION,
          pid: process.pid,
          feed: definition,
          root: folder,
          allowCode: true,
          options: { decode: 'gpu', workers: 2, depth: DEPTH, limit: null },
        },
      })
      out[name] = {
        opened: helloOf(opened),
        rows: opened.generator ? undefined : await rowsOf(client, opened),
      }
      client.socket.destroy()
    }
    const refused = await Client.connect(path, child)
    const { error } = await refused.ask({ open: { version: VERSION + 1, pid: process.pid, options: {} } })
    out['another version'] = { tag: error.tag, named: error.message.match(/version \d+/g) }
    refused.socket.destroy()
    return out
  } finally {
    child.kill('SIGKILL')
  }
}

class Client {
  constructor(socket) {
    this.socket = socket
    this.waiting = []
    this.next = 1
    createInterface(socket).on('line', line => {
      const answer = JSON.parse(line)
      this.waiting[answer.id]?.(answer)
    })
  }

  static async connect(path, child) {
    while (child.exitCode === null) {
      const socket = connect(path)
      const there = await new Promise(done =>
        socket.once('connect', () => done(true)).once('error', () => done(false)),
      )
      if (there) return new Client(socket)
      await sleep(20)
    }
    throw new Error(`the engine ended with ${child.exitCode}`)
  }

  ask(message) {
    const id = this.next++
    return new Promise((done, fail) => {
      this.waiting[id] = done
      this.socket.once('close', () => fail(new Error('the engine closed the connection')))
      this.socket.write(`${JSON.stringify({ id, ...message })}\n`)
    })
  }
}

/**
 * What the engine said. Left out: what differs between machines and runs (of that, the form), and what is the engine's own
 * affair, which docs/protocol.md does not name and no client reads.
 */
function helloOf(opened) {
  // `spans` came later.
  const { engine, memory, ready, kernels, generator, notices, spans, ...same } = opened
  const fields = opened.layout.fields.map(({ placeAt, stagingAt, device, ...field }) => {
    const { samplings, ...promised } = device ?? {}
    return { ...field, ...(device && { device: promised }) }
  })
  const { file, ...made } = generator ?? {}
  const { slots, slotBytes, control } = memory
  return {
    ...same,
    layout: { ...opened.layout, fields },
    ...(generator && { generator: { ...made, file: typeof file } }),
    form: formOf({ engine, memory, ready, kernels, notices }),
    memory: { slots, slotBytes, control },
  }
}

/** Of each row of the first epoch, hashes of its parameters and of the bytes behind them; of other fields, of the row. */
async function rowsOf(client, { memory, layout, steps }) {
  const [words, data] = [memory.path, memory.dataPath].map(path => openSync(path, 'r'))
  const read = (at, length, fd = words) => {
    const bytes = Buffer.alloc(length)
    readSync(fd, bytes, 0, length, at)
    return bytes
  }
  const word = at => read(at, 4).readInt32LE()
  const rows = []
  try {
    for (let k = 0; k < steps.first; k++) {
      const slot = () => memory.control + word(128 + 4 * (k % 32)) * memory.slotBytes
      while (word(256 + 4 * (k % 32)) !== k + 1 || word(slot() + 16) !== 1) await sleep(2)
      const at = slot()
      const { ids } = await client.ask({ ids: word(128 + 4 * (k % 32)) })
      for (let row = 0; row < word(at + 8); row++) {
        const parts = layout.fields.map(({ name, at: start, unitBytes, device }) => {
          const bytes = read(at + start + row * unitBytes, unitBytes, data)
          if (device?.kind !== 'picture') return `${name} ${hash(bytes)}`
          const length = bytes.readUInt32LE(4) // word 1: bytes behind the parameters
          const head = 4 * device.words
          return `${name} ${hash(bytes.subarray(0, head))} ${hash(bytes.subarray(head, head + length))}`
        })
        rows.push(`${ids[row]}: ${parts.join(', ')}`)
      }
    }
    return rows
  } finally {
    for (const fd of [words, data]) closeSync(fd)
  }
}

const hash = bytes => createHash('sha256').update(bytes).digest('hex').slice(0, 12)
