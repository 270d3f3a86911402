// Reads a table out of a TypeScript file: its values by importing the module, its comments from the file's text.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * A file's exported constants, each with what the comment before it says: `{ value, says, entries }`. Of an object or a
 * list, `entries` says the same of its members.
 */
export async function readTable(root, file, importModule) {
  const module = await importModule(file)
  const comments = commentsOf(readFileSync(join(root, file), 'utf8'))
  return name => {
    if (!(name in module)) throw new Error(`${file} exports no ${name}`)
    const { says = '', entries = {} } = comments[name] ?? {}
    return { name, value: module[name], says, entries }
  }
}

/** Comments of exported constants, and of the members of those that are objects: lines that are indented by two. */
function commentsOf(text) {
  const found = {}
  let inside
  let before = []
  for (const line of text.split('\n')) {
    const comment = /^\s*(?:\/\*\*|\*\/?|\/\/)\s?(.*?)\s*(?:\*\/)?$/.exec(line)
    if (comment !== null) {
      if (line.trim().startsWith('/**')) before = []
      if (comment[1] !== '' && comment[1] !== '/') before.push(comment[1])
      continue
    }
    const constant = /^export const (\w+)/.exec(line)?.[1]
    const member = /^ {2}'?(\w+)'?: /.exec(line)?.[1]
    if (constant !== undefined) {
      found[constant] = { says: before.join(' '), entries: {} }
      inside = line.includes('}') ? undefined : found[constant]
    } else if (line.startsWith('}')) inside = undefined
    else if (inside !== undefined && member !== undefined) inside.entries[member] = before.join(' ')
    before = []
  }
  return found
}
