// Cores that a process may use, and how busy they are.
import { readFileSync } from 'node:fs'

/** "0-3,8" as a list of numbers. */
export function listOf(text) {
  return text
    .trim()
    .split(',')
    .flatMap(part => {
      const [from, to = from] = part.split('-').map(Number)
      return Array.from({ length: to - from + 1 }, (_, i) => from + i)
    })
}

/** The cores that this process may use. */
export function allowedCores() {
  return listOf(/^Cpus_allowed_list:\s*(.*)$/m.exec(readFileSync('/proc/self/status', 'utf8'))[1])
}

/** ms that these cores were busy since the machine started, all of them together. */
export function busyMs(cores = allowedCores()) {
  let sum = 0
  for (const line of readFileSync('/proc/stat', 'utf8').split('\n')) {
    const match = /^cpu(\d+) (.*)$/.exec(line)
    if (match === null || !cores.includes(Number(match[1]))) continue
    const [user, nice, system, , , irq, softirq, steal] = match[2].split(' ').map(Number)
    sum += user + nice + system + irq + softirq + steal
  }
  return sum * 10
}
