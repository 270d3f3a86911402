/**
 * A source with units of many rows, as a plugin: `{ "units": { "path": DIR, … } }`.
 *
 *   DIR/units.json      what was written: seed, rows of each unit, files
 *   DIR/part-K.bin      for each group of rows two units, one after the other: the column `data`, then the column `extra`
 *   DIR/own.bin         eight bytes a row, the column `own`, which no other row shares
 *
 * A group of rows lies in two units with the same rows, as column chunks do. What is stored is a third of what `load` makes
 * of it. Options: `log` is a file that gets a line for each load, the unit's number; `later`: `load` returns a promise;
 * `prefix` goes before the names of all columns; `index` is the folder of units.json, where DIR is in another store.
 */
import { createHash } from 'node:crypto'
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const OWN = 8
const STORED = ['data', 'extra']

/** A number from 0 to 2³² − 1 that depends on all of these. */
export function hash(...numbers) {
  let h = 0x9e3779b9
  for (const n of numbers) {
    h = Math.imul(h ^ n, 0x85ebca6b)
    h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
    h ^= h >>> 16
  }
  return h >>> 0
}

/** Rows of each group: 1 to 500 of them by the seed, or equally many. */
export function groupRows({ rows, seed, each }) {
  const sizes = []
  for (let left = rows; left > 0; left -= sizes.at(-1))
    sizes.push(Math.min(left, each ?? 1 + (hash(seed, sizes.length) % 500)))
  return sizes
}

/** Bytes that are stored of a column of a row, of which `load` makes three times as many. */
function storedBytes(seed, row, which, scale) {
  return scale * (1 + (hash(seed, row, which) % 8))
}

/** Those bytes. */
function stored(seed, row, column, scale = 1) {
  const which = STORED.indexOf(column)
  const bytes = new Uint8Array(storedBytes(seed, row, which, scale))
  for (let i = 0; i < bytes.length; i++) bytes[i] = i < 8 ? hash(seed, row, which, i) : bytes[i - 8] + 1
  return bytes
}

/** Every byte becomes three. */
function expand(bytes, into) {
  for (let i = 0; i < bytes.length; i++) {
    into[3 * i] = bytes[i]
    into[3 * i + 1] = bytes[i] ^ 0xa5
    into[3 * i + 2] = bytes[i] + 77
  }
  return into
}

/** The columns of a row, by the rule and not from files: what a feed has to deliver. */
export function expected(seed, row) {
  const value = column => {
    const bytes = stored(seed, row, column)
    return expand(bytes, new Uint8Array(3 * bytes.length))
  }
  return { data: value('data'), extra: value('extra'), own: own(seed, row), ...indexed(seed, row) }
}

function own(seed, row) {
  return Uint8Array.from({ length: OWN }, (_, i) => hash(seed, row, 9, i) & 255)
}

function indexed(seed, row) {
  return { number: row, label: hash(seed, row, 5) % 7, group: `g${hash(seed, row >> 2, 6) % 40}` }
}

/** Writes the data of so many rows, in so many files. */
export function writeUnits(folder, { rows, seed, each, parts = 3, scale = 1 }) {
  mkdirSync(folder, { recursive: true })
  const sizes = groupRows({ rows, seed, each })
  const files = Array.from({ length: parts }, () => [])
  let row = 0
  sizes.forEach((size, group) => {
    const here = Array.from({ length: size }, () => row++)
    const pieces = STORED.flatMap(column => here.map(r => stored(seed, r, column, scale)))
    files[Math.floor((group * parts) / sizes.length)].push(...pieces)
  })
  for (const [k, pieces] of files.entries())
    writeFileSync(join(folder, `part-${k}.bin`), Buffer.concat(pieces))
  writeFileSync(join(folder, 'own.bin'), Buffer.concat(Array.from({ length: rows }, (_, r) => own(seed, r))))
  writeFileSync(join(folder, 'units.json'), JSON.stringify({ rows, seed, sizes, parts, scale }))
}

/** How often each unit was loaded, by its number. */
export function loadsIn(log) {
  const loads = new Map()
  for (const line of readFileSync(log, 'utf8').trim().split('\n'))
    if (line !== '') loads.set(Number(line), (loads.get(Number(line)) ?? 0) + 1)
  return loads
}

const shared = values => {
  const array = new Float64Array(new SharedArrayBuffer(values.length * 8))
  array.set(values)
  return array
}

/** Where everything lies: tables that all threads share. */
function tablesOf({ rows, seed, sizes, parts, scale }) {
  const starts = []
  const file = []
  /** Of each unit, its first byte in its file; then of each row and column, its first byte in its unit. */
  const offset = []
  const bytes = []
  const rowAt = STORED.map(() => new Float64Array(rows + 1))
  const at = new Array(parts).fill(0)
  const runs = [0]
  let row = 0
  sizes.forEach((size, group) => {
    const part = Math.floor((group * parts) / sizes.length)
    if (group > 0 && part !== file.at(-1)) runs.push(row)
    STORED.forEach((_, c) => {
      let length = 0
      for (let r = row; r < row + size; r++) {
        rowAt[c][r] = length
        length += storedBytes(seed, r, c, scale)
      }
      starts.push(row)
      file.push(part)
      offset.push(at[part])
      bytes.push(length)
      at[part] += length
    })
    row += size
  })
  return {
    starts: shared(starts),
    file: shared(file),
    offset: shared(offset),
    bytes: shared(bytes),
    rowAt: rowAt.map(shared),
    runs: shared(runs),
  }
}

/** The group that holds a row. */
function groupOf(starts, row) {
  let low = 0
  let high = starts.length / 2 - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (starts[2 * middle] <= row) low = middle
    else high = middle - 1
  }
  return low
}

const INDEXED = ['number', 'label', 'group']

class Units {
  constructor({ fingerprint, tables, folder, seed, scale, log, later, prefix }) {
    Object.assign(this, tables, { count: fingerprint.count, folder, seed, scale, log, prefix })
    this.unitStarts = tables.starts
    this.indexed = INDEXED.map(name => prefix + name)
    this.columns = [...STORED, 'own', ...INDEXED].map(name => prefix + name)
    // Two turns: the rows of a claim wait for it.
    if (later)
      this.load = async (...given) => {
        await new Promise(setImmediate)
        return this.loaded(...given)
      }
    else this.load = this.loaded
  }

  id(row) {
    return `s${this.seed}-${row}`
  }

  key(row) {
    return this.id(row)
  }

  index(name) {
    if (!this.indexed.includes(name)) return undefined
    const own = name.slice(this.prefix.length)
    return { type: own === 'group' ? 'string' : 'number', at: row => indexed(this.seed, row)[own] }
  }

  wants(columns, name) {
    return columns.includes(this.prefix + name)
  }

  where(row) {
    const unit = 2 * groupOf(this.starts, row)
    return { file: this.path(unit), offset: this.offset[unit] }
  }

  path(unit) {
    return `${this.folder}/part-${this.file[unit]}.bin`
  }

  need(row, _epoch, columns, out) {
    if (this.wants(columns, 'own'))
      out.ranges.push({ file: `${this.folder}/own.bin`, offset: OWN * row, length: OWN })
    STORED.forEach((column, c) => {
      if (!this.wants(columns, column)) return
      const unit = 2 * groupOf(this.starts, row) + c
      out.units.push({ leaf: this, unit, columns: [this.prefix + column] })
    })
  }

  planUnit(unit) {
    return [{ file: this.path(unit), offset: this.offset[unit], length: this.bytes[unit] }]
  }

  unitBytes(unit) {
    return 3 * this.bytes[unit]
  }

  loaded(unit, [piece], into) {
    if (this.log !== undefined) appendFileSync(this.log, `${unit}\n`)
    if (piece.length !== this.bytes[unit] || into.length < 3 * piece.length)
      throw new Error(`unit ${unit}: ${piece.length} bytes were read, and there is room for ${into.length}`)
    return [expand(piece, into).subarray(0, 3 * piece.length)]
  }

  sample(row, _epoch, columns, { ranges, units }) {
    const found = {}
    const { prefix } = this
    if (this.wants(columns, 'own')) found[`${prefix}own`] = ranges[0]
    let next = 0
    STORED.forEach((column, c) => {
      if (!this.wants(columns, column)) return
      const begin = 3 * this.rowAt[c][row]
      const [bytes] = units[next++]
      found[prefix + column] = bytes.subarray(begin, begin + 3 * storedBytes(this.seed, row, c, this.scale))
    })
    for (const [name, value] of Object.entries(indexed(this.seed, row)))
      if (this.wants(columns, name)) found[prefix + name] = value
    return found
  }
}

const units = {
  check(json) {
    if (typeof json?.path !== 'string') throw new Error('needs the path of a folder')
  },
  open({ path, log, later = false, prefix = '', index = path }, { root }) {
    const folder = /^\w+:\/\//.test(path) ? path : resolve(root, path)
    const text = readFileSync(join(resolve(root, index), 'units.json'), 'utf8')
    const written = JSON.parse(text)
    const tables = tablesOf(written)
    const digest = createHash('sha256').update(text).digest('hex')
    return {
      fingerprint: { count: written.rows, digest },
      indexBytes: 8 * (2 * written.rows + 5 * written.sizes.length),
      tables,
      folder,
      seed: written.seed,
      scale: written.scale,
      log,
      later,
      prefix,
    }
  },
  attach: manifest => new Units(manifest),
}

export default { sources: { units } }
