/**
 * All datasets of a file, by their paths. Hard and soft links are followed within the file. What leads back to a group above it,
 * nowhere, or into another file is told with the reason, so that it is refused when it is asked for.
 */
import type { Hdf5Bytes } from './bytes.js'
import { isGroup, type Link, linksOf } from './group.js'
import { MESSAGE, type Message, readMessages } from './object-header.js'

export interface Found {
  dataset(path: string, address: number, messages: readonly Message[]): Promise<void>
  refused(path: string, why: string): void
}

const DEEPEST = 64
/** Soft links that lead to soft links. */
const MOST_STEPS = 16
/** Bytes that a link takes in a file at least. */
const LINK_BYTES = 16

export async function walkFile(file: Hdf5Bytes, root: number, found: Found): Promise<void> {
  const most = 1000 + file.size / LINK_BYTES
  const groups = new Map<number, readonly Link[] | undefined>()
  let seen = 0
  await enter(root, '', [])

  async function members(
    address: number,
    messages?: readonly Message[],
  ): Promise<readonly Link[] | undefined> {
    if (!groups.has(address)) {
      const own = messages ?? (await readMessages(file, address))
      groups.set(address, isGroup(own) ? await linksOf(file, own) : undefined)
    }
    return groups.get(address)
  }

  async function enter(
    address: number,
    path: string,
    above: readonly number[],
    known?: readonly Message[],
  ): Promise<void> {
    const links = (await members(address, known)) ?? []
    const inside = [...above, address]
    for (const link of [...links].sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const name = path === '' ? link.name : `${path}/${link.name}`
      if (++seen > most) throw file.fault('there are more links than the file has room for', address)
      const to = await target(link, inside)
      if (typeof to === 'string') {
        found.refused(name, to)
        continue
      }
      if (inside.includes(to)) found.refused(name, 'it leads back to a group above it')
      else if (inside.length >= DEEPEST) found.refused(name, 'its groups are nested too deeply')
      else await visit(to, name, inside)
    }
  }

  async function visit(address: number, path: string, inside: readonly number[]): Promise<void> {
    if (groups.get(address) !== undefined) return enter(address, path, inside)
    const messages = await readMessages(file, address)
    if (isGroup(messages)) return enter(address, path, inside, messages)
    const types: readonly number[] = messages.map(({ type }) => type)
    if (types.includes(MESSAGE.layout) && types.includes(MESSAGE.dataspace))
      await found.dataset(path, address, messages)
  }

  /** The address that a link leads to, or why it leads nowhere. `inside`: the groups from the root down to the link's own. */
  async function target(link: Link, inside: readonly number[], steps = 0): Promise<number | string> {
    if ('to' in link) return link.to
    if ('external' in link) return `it is a link to another file (${link.external}): name that file itself`
    if (steps > MOST_STEPS) return 'its soft links lead in a circle'
    let way = link.soft.startsWith('/') ? [root] : [...inside]
    const parts = link.soft.split('/').filter(part => part !== '' && part !== '.')
    for (const [i, part] of parts.entries()) {
      const links = await members(way[way.length - 1])
      const next = links?.find(({ name }) => name === part)
      if (next === undefined) return `it is a soft link to ${link.soft}, which is not there`
      const to = await target(next, way, steps + 1 + i)
      if (typeof to === 'string') return to
      way = [...way, to]
    }
    return way[way.length - 1]
  }
}
