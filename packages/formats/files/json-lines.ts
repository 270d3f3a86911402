/** JSON lines: an object in each line of a file. Its keys are the columns; integers keep all their digits. */
import { fault, type ListText, type Table, textLines } from '../text-lines.js'

/** Sixteen digits: from here on JSON.parse may round an integer. */
const LONG_NUMBER = /\d{16}/
/** The strings and numbers of a JSON text. */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g
/** Before the digits of a kept integer: no text that JSON brings along begins so. */
const MARK = '\ue000millrace\ue001'
const KEPT = new RegExp(`"${MARK}(-?\\d+)"`, 'g')

export function jsonTable(list: ListText): Table {
  const file = list.name
  const names: string[] = []
  const numbers = new Map<string, number>()
  const numberOf = (name: string): number => {
    const known = numbers.get(name)
    if (known !== undefined) return known
    numbers.set(name, names.length)
    return names.push(name) - 1
  }
  return {
    names,
    *lines() {
      for (const { line, text } of textLines(list)) {
        if (text.trim() === '') continue
        const cells: string[] = []
        for (const [name, value] of Object.entries(objectIn(file, line, text)))
          cells[numberOf(name)] = cellOf(file, line, value)
        yield { line, cells: Array.from(names, (_, i) => cells[i] ?? '') }
      }
    },
  }
}

function objectIn(file: string, line: number, text: string): object {
  let value: unknown
  try {
    value = JSON.parse(LONG_NUMBER.test(text) ? text.replace(TOKEN, keepDigits) : text)
  } catch (error) {
    throw fault(file, line, `no JSON: ${(error as Error).message}`)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw fault(file, line, 'it should be an object, such as {"path": "cat/1.jpg", "label": 3}')
}

/** A value as a cell: truth as 1 and 0, lists and objects as JSON. */
function cellOf(file: string, line: number, value: unknown): string {
  if (typeof value === 'string') return value.startsWith(MARK) ? value.slice(MARK.length) : value
  if (typeof value === 'boolean') return value ? '1' : '0'
  if (value === null) return ''
  try {
    return JSON.stringify(value).replace(KEPT, '$1')
  } catch {
    throw fault(file, line, 'its lists and objects lie too deep in each other: write them flatter')
  }
}

/** An integer that a number can't hold becomes text, so that every digit is delivered. */
function keepDigits(token: string): string {
  return /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${MARK}${token}"` : token
}
