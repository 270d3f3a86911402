/**
 * A child process that one thread drives by itself, without an event loop: written to and read from through two
 * pipes, waited for with poll, reaped with waitpid. Node's own child processes need a loop that turns, and a maker's
 * doesn't: it makes rows.
 *
 *   this thread ── pipe ──► the child's standard input
 *   this thread ◄── pipe ── the child's standard output        standard error is ours
 *               ◄─ memory ─► the child's descriptor 3
 *
 * Waiting returns to JavaScript several times a second, so that a thread stuck behind its child can still be ended;
 * and looks whether the child lives, since a grandchild may keep a dead child's pipes open.
 */
import { readSync, writeSync } from 'node:fs'
import { constants } from 'node:os'
import { EngineError } from '../../basics/errors.js'
import { koffi, libc } from '../native.js'
import { unbound } from './affinity.js'
import { openPipe, type Pipe } from './pipe.js'

/** The child has ended, or was ended: what it was asked is not going to be answered. */
export class ChildEnded extends EngineError {}

/** What is left to do for a child whose thread is gone: to end it, and to close what this process has of it. */
export interface ChildHandle {
  pid: number
  descriptors: number[]
}

/**
 * Told of what a child has at present; undefined when that is nothing. A thread can be ended between any two lines:
 * descriptors are taken off before they are closed, since closing one twice would close another file.
 */
export type ChildNote = (child: ChildHandle | undefined) => void

/** How long (ms) a wait lasts before it looks whether the child still lives. */
const LOOK = 200
/** The same for a child that is guarded: it may take a gigabyte in a second. */
const GUARD_LOOK = 50
/** How long (ms) a child may take to leave by itself once its input has ended. */
const END_MS = 300
const STDERR = 2
const POLLIN = 1
const POLLOUT = 4
const WNOHANG = 1
const POSIX_SPAWN_SETSIGMASK = 8
/** Room for the structures of posix_spawn: 80 and 336 bytes in glibc, a pointer on macOS. */
const STRUCTURE = 512

const call = {
  spawn: libc.func(
    'int posix_spawnp(void *pid, const char *file, void *actions, void *attributes, const char **argv, const char **envp)',
  ),
  actionsInit: libc.func('int posix_spawn_file_actions_init(void *actions)'),
  actionsDup: libc.func('int posix_spawn_file_actions_adddup2(void *actions, int from, int to)'),
  actionsClose: libc.func('int posix_spawn_file_actions_addclose(void *actions, int descriptor)'),
  actionsDestroy: libc.func('int posix_spawn_file_actions_destroy(void *actions)'),
  attributesInit: libc.func('int posix_spawnattr_init(void *attributes)'),
  attributesFlags: libc.func('int posix_spawnattr_setflags(void *attributes, short flags)'),
  attributesMask: libc.func('int posix_spawnattr_setsigmask(void *attributes, void *mask)'),
  attributesDestroy: libc.func('int posix_spawnattr_destroy(void *attributes)'),
  poll: libc.func('int poll(void *descriptors, unsigned long count, int timeout)'),
  waitpid: libc.func('int waitpid(int pid, void *status, int options)'),
  kill: libc.func('int kill(int pid, int signal)'),
  // Node's closeSync would warn of a descriptor that it has not opened.
  close: libc.func('int close(int descriptor)'),
  dup: libc.func('int dup(int descriptor)'),
}

export class Child {
  /** Looked at while the child is waited for: the reason to end it, if there is one. */
  guard: (() => string | undefined) | undefined
  private ended: string | undefined
  private readonly polled = new Int32Array(2)

  private constructor(
    readonly pid: number,
    private readonly input: number,
    private readonly output: number,
    private readonly note: ChildNote,
  ) {}

  /** Starts a program. `memory` is a descriptor that it finds as its own number 3, if it gets one. */
  static start(
    command: readonly string[],
    env: Record<string, string | undefined>,
    memory: number | undefined,
    note: ChildNote = () => {},
  ): Child {
    const more = memory === undefined ? [] : [memory]
    const to = openPipe()
    let from: Pipe | undefined
    try {
      from = openPipe()
      const { write } = from
      // Its threads are not bound with the worker that drives it.
      const pid = unbound(() => spawn(command, env, [to.read, write, STDERR, ...more]))
      note({ pid, descriptors: [to.write, from.read, ...more] })
      return new Child(pid, to.write, from.read, note)
    } catch (error) {
      call.close(to.write)
      if (from) call.close(from.read)
      throw error
    } finally {
      call.close(to.read)
      if (from) call.close(from.write)
    }
  }

  /** Writes all of it. Blocks; throws ChildEnded when the child is gone. */
  write(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      this.wait(this.input, POLLOUT)
      try {
        at += writeSync(this.input, bytes, at)
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        if (code !== 'EAGAIN') this.fail()
      }
    }
  }

  /** Reads what there is, at least one byte, into `into` from `at` on; returns how many. Blocks. */
  read(into: Uint8Array, at: number): number {
    for (;;) {
      this.wait(this.output, POLLIN)
      let got = 0
      try {
        got = readSync(this.output, into, at, into.length - at, null)
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        if (code === 'EAGAIN') continue
      }
      return got > 0 ? got : this.fail()
    }
  }

  /** Tells the child to leave, by the end of its input, and ends it when it doesn't. */
  end(ms = END_MS): void {
    if (this.ended === undefined) this.leave(ms)
  }

  /** Waits until a descriptor can be used, or the child is gone. */
  private wait(descriptor: number, events: number): void {
    if (this.ended !== undefined) throw new ChildEnded(this.ended)
    for (;;) {
      this.polled[0] = descriptor
      this.polled[1] = events // two shorts: what is asked, what has happened
      if (call.poll(this.polled, 1, this.guard === undefined ? LOOK : GUARD_LOOK) > 0) return
      this.reap(WNOHANG)
      const reason: string | undefined = this.ended === undefined ? this.guard?.() : undefined
      if (reason !== undefined) {
        this.kill()
        this.ended = reason
      }
      if (this.ended !== undefined) this.fail()
    }
  }

  /** The child answers no more: ends what is left of it, and throws how it ended. */
  private fail(): never {
    // It may be in the middle of dying: its pipes close before it can be waited for.
    this.leave(END_MS)
    throw new ChildEnded(this.ended!)
  }

  private leave(ms: number): void {
    this.note({ pid: this.pid, descriptors: [] })
    call.close(this.input)
    call.close(this.output)
    for (let waited = 0; this.ended === undefined && waited < ms; waited += 5) {
      this.reap(WNOHANG)
      if (this.ended === undefined) sleep(5)
    }
    this.kill()
    this.note(undefined)
  }

  private kill(): void {
    if (this.ended !== undefined) return
    call.kill(this.pid, constants.signals.SIGKILL)
    this.reap(0)
    this.ended ??= 'it was ended'
  }

  private reap(options: number): void {
    const status = new Int32Array(1)
    if (call.waitpid(this.pid, status, options) !== this.pid) return
    const signal = status[0] & 127
    this.ended =
      signal === 0 ? `it left with code ${(status[0] >> 8) & 255}` : `it was ended by ${nameOf(signal)}`
  }
}

/** Ends and reaps a child whose thread is gone. */
export function endChild({ pid, descriptors }: ChildHandle): void {
  for (const descriptor of descriptors) call.close(descriptor)
  call.kill(pid, constants.signals.SIGKILL)
  call.waitpid(pid, new Int32Array(1), 0)
}

/** Closes a descriptor that Node has not opened. */
export function closeDescriptor(descriptor: number): void {
  call.close(descriptor)
}

/** Starts a program whose descriptors 0, 1, … are the given ones. */
function spawn(
  command: readonly string[],
  env: Record<string, string | undefined>,
  descriptors: readonly number[],
): number {
  const actions = new Uint8Array(STRUCTURE)
  const attributes = new Uint8Array(STRUCTURE)
  // Node has its own standard streams closed in every program that is started.
  const stderr: number = call.dup(STDERR)
  call.actionsInit(actions)
  call.attributesInit(attributes)
  try {
    descriptors.forEach((from, to) => {
      call.actionsDup(actions, from === STDERR ? stderr : from, to)
    })
    if (stderr >= descriptors.length) call.actionsClose(actions, stderr)
    // No signal is blocked in the child, even if this thread blocks some.
    call.attributesMask(attributes, new Uint8Array(STRUCTURE))
    call.attributesFlags(attributes, POSIX_SPAWN_SETSIGMASK)
    const pid = new Int32Array(1)
    const entries = Object.entries(env).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${value}`],
    )
    const status: number = call.spawn(
      pid,
      command[0],
      actions,
      attributes,
      [...command, null],
      [...entries, null],
    )
    if (status !== 0) {
      throw new EngineError(
        `can't start ${command[0]}: ${errorName(status)}; is it there, and may it be run?`,
      )
    }
    return pid[0]
  } finally {
    call.close(stderr)
    call.actionsDestroy(actions)
    call.attributesDestroy(attributes)
  }
}

const naps = new Int32Array(new SharedArrayBuffer(4))

function sleep(ms: number): void {
  Atomics.wait(naps, 0, 0, ms)
}

function nameOf(signal: number): string {
  return Object.entries(constants.signals).find(([, number]) => number === signal)?.[0] ?? `signal ${signal}`
}

function errorName(status: number): string {
  return Object.entries(koffi.os.errno).find(([, number]) => number === status)?.[0] ?? `errno ${status}`
}
