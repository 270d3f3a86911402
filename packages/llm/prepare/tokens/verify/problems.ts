/** What is wrong with a file: of each kind the first few in words, and how many there are. */

/** Problems of a kind that are told in words. */
const TOLD = 3

export interface Problem {
  kind: string
  count: number
  /** The first of them. */
  reported: string[]
}

export class Problems {
  readonly all: Problem[] = []

  add(kind: string, text: string): void {
    let problem = this.all.find(one => one.kind === kind)
    if (problem === undefined) {
      problem = { kind, count: 0, reported: [] }
      this.all.push(problem)
    }
    problem.count++
    if (problem.reported.length < TOLD) problem.reported.push(text)
  }
}
