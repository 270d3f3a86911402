/**
 * A ring that is served: by itself to one client, or to several that take part in one rank (tensor parallelism) and
 * see the same batches. A slot is free when all of them have given it back.
 */

import { MillraceError, SampleError } from '../../basics/errors.js'
import { MAX_DEPTH } from '../../batch/ring.js'
import { Header, RowStatus, type Slot } from '../../batch/slot.js'
import type { NormalFeed } from '../../define/types.js'
import type { BadReport } from '../../engine/plan/job.js'
import { replan } from '../../engine/plan/plan.js'
import { sampleName } from '../../engine/plan/sample-name.js'
import type { Feeding } from '../../engine/ring/feeding.js'
import { type BlendChange, neededChanges } from '../../order/blend/changes.js'
import { type Place, stepPlan } from '../../order/steps.js'
import { closePipe, openPipe, type Pipe, signal } from '../../system/process/pipe.js'
import type { OpenedOptions } from '../options.js'
import { type Opened, openPlan, startFeeding } from '../start.js'
import { type Move, RequestError } from './request.js'

/**
 * Changes of weights that a client knows beside those that matter from here on: they tell it the names of samples in
 * batches that it still has.
 */
const REMEMBERED = 32

/** One client of the ring. */
export interface Member {
  pipe: Pipe
}

/** A move that waits for all members. */
interface Meeting {
  moved: Promise<number>
  go(moved: Promise<number>): void
}

function meet(): Meeting {
  let go!: Meeting['go']
  const moved = new Promise<number>(resolve => {
    go = resolve
  })
  return { moved, go }
}

export class Serving {
  /** Who has given back a slot that not all have. */
  private readonly givenBack = new Map<number, Set<Member>>()
  private readonly members = new Set<Member>()
  /** Answers about bad rows, by generation and batch. */
  private readonly known = new Map<string, object[]>()
  /** Members that have asked to move, and the others' coming that they wait for. */
  private readonly movers = new Map<Member, Move>()
  private meeting: Meeting | undefined
  /** Whether all that were to come have come, and whether the last of them has left. */
  complete = false
  ended = false
  /** How many were to come. */
  readonly wanted: number

  private constructor(
    readonly opened: Opened,
    readonly feeding: Feeding,
    readonly options: OpenedOptions,
    private readonly first: Pipe,
    /** Clients that are to come, or here. */
    private expected: number,
  ) {
    this.wanted = expected
    if (expected > 1) void this.tellOthers()
  }

  static async start(
    feed: NormalFeed,
    options: OpenedOptions,
    limit: number,
    members: number,
  ): Promise<Serving> {
    const opened = await openPlan(feed, options)
    const pipe = openPipe()
    try {
      const feeding = await startFeeding(opened, { ...options, ready: pipe.write }, limit)
      feeding.watch()
      return new Serving(opened, feeding, options, pipe, members)
    } catch (error) {
      closePipe(pipe)
      throw error
    }
  }

  /** A client comes. The makers write to the first one's pipe themselves. */
  join(): Member {
    if (this.members.size >= this.expected) {
      throw new MillraceError(
        `all ${this.expected} members of this rank are here already: check "share.members"`,
      )
    }
    const member = { pipe: this.members.size === 0 ? this.first : openPipe() }
    this.members.add(member)
    this.complete = this.members.size === this.expected
    return member
  }

  /** Whether a client was the first to come. */
  isFirst({ pipe }: Member): boolean {
    return pipe === this.first
  }

  /** A client goes; the last one ends the ring. */
  async leave(member: Member): Promise<void> {
    this.members.delete(member)
    this.movers.delete(member)
    this.expected--
    // A slot is free when each member that is left has given it back: the one that left is not counted for it any more.
    for (const by of this.givenBack.values()) by.delete(member)
    if (member.pipe !== this.first) closePipe(member.pipe)
    if (this.expected > 0 && this.members.size > 0) {
      for (const slot of [...this.givenBack.keys()]) this.settle(slot)
      this.moveTogether()
      return
    }
    this.ended = true
    await this.feeding.close()
    this.feeding.vacate()
    closePipe(this.first)
  }

  release(slot: number, member: Member): void {
    if (this.expected === 1) {
      this.feeding.giveBack(slot)
      return
    }
    const by = this.givenBack.get(slot) ?? new Set()
    this.givenBack.set(slot, by.add(member))
    this.settle(slot)
  }

  /** A client waits for a batch and holds these many slots: the depth was lowered meanwhile, and must be more than that. */
  makeRoom(slots: number): void {
    const { feeding } = this
    // Members may hold different ones.
    const held = this.wanted > 1 ? feeding.ring.slotsInUse(Infinity).held : slots
    if (held < feeding.depth) return
    // Where no memory is left for it, the client waits until it drops a batch.
    feeding.setDepth(held + 1).catch(() => {})
  }

  /**
   * Goes on from another place; what was made ahead is thrown away. Members move together, when the last of them has
   * asked: until then the others may still read.
   */
  move(request: Move, member: Member): Promise<number> {
    this.movers.set(member, request)
    this.meeting ??= meet()
    const { moved } = this.meeting
    this.moveTogether()
    return moved
  }

  private moveTogether(): void {
    if (this.meeting === undefined || this.movers.size < this.expected) return
    const movers = new Map(this.movers)
    const { go } = this.meeting
    this.movers.clear()
    this.meeting = undefined
    go(this.moveRing(movers))
  }

  private async moveRing(movers: ReadonlyMap<Member, Move>): Promise<number> {
    const { feeding, opened } = this
    const [{ epoch, position, limit, changes }, ...others] = movers.values()
    const { length } = opened.plan
    if (position > length) throw new RequestError(`an epoch has ${length} positions: ${position} is none`)
    if (others.some(other => other.epoch !== epoch || other.position !== position)) {
      throw new MillraceError('the members of this rank want to go on from different places')
    }
    // The order is compiled anew only where its weights have changed.
    if (changes !== undefined && JSON.stringify(changes) !== JSON.stringify(opened.changes)) {
      opened.changes = changes
      opened.plan = replan(opened.plan, changes)
    }
    this.givenBack.clear()
    const slots = [...movers.values()].flatMap(({ held = [] }) => held)
    const held = new Set(slots.filter(slot => slot < feeding.ring.capacity))
    for (const slot of held) {
      const done = [...movers.keys()].filter(member => !movers.get(member)!.held?.includes(slot))
      if (done.length > 0) this.givenBack.set(slot, new Set(done))
    }
    feeding.lent(held)
    await feeding.move({ epoch, position, limit: limit ?? Infinity }, opened.plan)
    return feeding.ring.generation
  }

  /** A slot with a batch that is ready. */
  private slot(index: number): Slot {
    const { feeding } = this
    if (index < feeding.ring.capacity && feeding.ring.filled(index)) return feeding.slot(index)
    throw new RequestError(`there is no batch in slot ${index}`)
  }

  /** Names of the samples in a slot, without fillers. */
  ids(index: number): string[] {
    const slot = this.slot(index)
    const ids: string[] = []
    for (let row = 0; row < slot.words[Header.Count]; row++) {
      if (slot.status[row] === RowStatus.Filler) continue
      ids.push(sampleName(this.opened.plan, slot, row))
    }
    return ids
  }

  /** Names of the samples at some positions of an epoch: of batches long given back, or never made. */
  names({ epoch, positions }: { epoch: number; positions: number[] }): string[] {
    const { order, attached } = this.opened.plan
    const draw = { source: 0, row: 0, drawn: 0, epoch: 0 }
    const wrong = positions.find(position => position >= order.length)
    if (wrong !== undefined)
      throw new RequestError(`an epoch has ${order.length} positions: ${wrong} is none`)
    return positions.map(position => {
      order.draw(epoch, position, draw)
      return attached[draw.source].id(draw.row, draw.epoch)
    })
  }

  /** Steps of so many epochs from a place on, and where they begin: at the next epoch, where none of this one is left. */
  steps({ epochs, ...start }: Place & { epochs: number }): { total: number; place: Place } {
    const { total, start: place } = stepPlan({ ...this.opened.share, start, epochs })
    return { total, place }
  }

  /** What is wrong with the bad rows of a batch. Members ask at different times: answers are kept for a while. */
  bad(batch: number): object[] {
    const name = `${this.feeding.ring.generation}/${batch}`
    const known = this.known.get(name)
    if (known) return known
    const bad = this.feeding.badOf(batch).map(report => this.reported(report))
    this.known.set(name, bad)
    if (this.known.size > MAX_DEPTH) this.known.delete(this.known.keys().next().value!)
    return bad
  }

  /** A bad sample as a client is told of it; with `fail` it need not know more than the message. */
  private reported({ row, where, problem, mistake, suspect }: BadReport): object {
    const message = row < 0 ? problem : new SampleError(where, problem).message
    const { id, stage, field, file } = where
    const reported = { row, id, stage, message }
    if (this.opened.plan.feed.onError.policy === 'fail') return reported
    return { ...reported, field, file, problem, mistake, suspect }
  }

  /** Has the CPU decode pictures that the client's device refused, in place. */
  redo({ slot, field, rows }: { slot: number; field: string; rows: number[] }): object[] {
    const count = this.slot(slot).words[Header.Count]
    const wrong = rows.find(row => row >= count)
    if (wrong !== undefined) throw new RequestError(`slot ${slot} has ${count} rows: ${wrong} is none`)
    const { device } = this.feeding.layout.fields.find(({ name }) => name === field) ?? {}
    if (device === undefined || device.kind === 'generated')
      throw new RequestError(`no field "${field}" was left to the device`)
    const bad = this.feeding.redo(slot, field, rows)
    return rows.map(row => {
      const found = bad.find(report => report.row === row)
      return found === undefined ? { row, ok: true } : { ok: false, ...this.reported(found) }
    })
  }

  /** The changes of a blend's weights after one more; by default after those that are in effect. */
  weigh(
    weights: number[] | Record<string, number>,
    place: Place,
    before: readonly BlendChange[] = this.opened.changes,
  ): readonly BlendChange[] {
    const { plan } = this.opened
    if (!plan.order.changed)
      throw new MillraceError('only a blend has weights to change: this feed has one source')
    const changes = plan.order.changed(before, place, weights)
    if (changes === before) return before
    const settled = replan(plan, changes).order.settled!()
    return settled.slice(-Math.max(REMEMBERED, neededChanges(settled, place, plan).length))
  }

  private settle(slot: number): void {
    const by = this.givenBack.get(slot)
    if (by === undefined || by.size < this.expected) return
    this.givenBack.delete(slot)
    this.feeding.giveBack(slot)
  }

  /** The pipes of all but the first client are written to from here. */
  private async tellOthers(): Promise<void> {
    while (!this.ended) {
      const [words, index, seen] = this.feeding.ring.completed
      for (const { pipe } of this.members) if (pipe !== this.first) signal(pipe.write)
      const wait = Atomics.waitAsync(words, index, seen, 100)
      if (wait.async) await wait.value
      else await new Promise(resolve => setImmediate(resolve))
    }
  }
}
