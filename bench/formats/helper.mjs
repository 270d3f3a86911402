// A program that answers a line of JSON for each line, and is started again after it failed. Starting it is no part of a turn.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

/** A turn that takes longer has failed (ms). */
const LIMIT = 120_000

export class Helper {
  constructor(command, args, env) {
    this.start = () => {
      this.child = spawn(command, args, {
        env: { ...process.env, ...env },
        stdio: ['pipe', 'pipe', 'ignore'],
      })
      this.child.stdin.on('error', () => {}) // it ended: the answer is missing, which is said
      this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]()
    }
  }

  async ask(question) {
    if (this.child === undefined) this.start()
    this.child.stdin.write(`${JSON.stringify(question)}\n`)
    const limit = setTimeout(() => this.child.kill('SIGKILL'), LIMIT)
    const { value } = await this.lines.next()
    clearTimeout(limit)
    const answer = value === undefined ? { failed: 'it ended, or took too long' } : JSON.parse(value)
    if (answer.failed === undefined) return answer
    this.end()
    throw new Error(answer.failed)
  }

  end() {
    this.child?.kill('SIGKILL')
    this.child = undefined
  }
}
