/**
 * The ring under every thread that could run at the same time. Each atomic operation of a maker or of the owner is a point at
 * which another thread may run, the maker may die, or the owner may bury it, deliver, or move the ring. A schedule says
 * what happens at each point; fast-check looks for one that loses a batch, makes one twice, or leaks a slot.
 *
 * What runs in between runs to its own end (or death) before the interrupted one goes on.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  At,
  CLAIM_BITS,
  GENERATION_BITS,
  MAX_DEPTH,
  MAX_REDO,
  PASS_BITS,
  Word,
} from '../../batch/control-words.js'
import { layoutSlot } from '../../batch/layout.js'
import { type Claim, CONTROL_BYTES, Ring, UNDECIDED } from '../../batch/ring.js'
import { Header, type Slot } from '../../batch/slot.js'

const MAKERS = 3
const CAPACITY = 4
/** Rows of 32 KiB: four claims of two chunks a batch, to begin with. */
const ROWS = 8

const OPERATIONS = ['load', 'store', 'compareExchange', 'exchange', 'add', 'sub', 'or'] as const
type Operation = (typeof OPERATIONS)[number]

/** Chunks of a claim, as the tuner may set them. */
const STRIDES = [1, 3, 8]

/** Depths, likewise. */
const DEPTHS = [1, 2, CAPACITY]

interface Event {
  act: 'none' | 'go' | 'die' | 'bury' | 'take' | 'release' | 'move' | 'return' | 'stride' | 'depth'
  maker: number
}

/** Where a maker is on its way through a claim. */
interface Maker {
  claim?: Claim
  slot?: Slot
  /** Its rows are written; and, once it has finished the claim, whether it has to close the batch. */
  made?: boolean
  closes?: boolean
  /** It has yet to read of another order, and gives its claim back before it looks for the slot. */
  outdated?: boolean
  dead?: boolean
}

/** Thrown in a maker that dies, and in one that would sleep. */
class Death extends Error {}
class Sleeps extends Error {}

function makeRing(depth: number): Ring {
  const layout = layoutSlot([{ name: 'vector', dtype: 'i64', form: 'dense', shape: [4096] }], ROWS)
  const pages = (CONTROL_BYTES + CAPACITY * layout.bytes) / 65536
  const memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true })
  const ring = new Ring(memory, layout, CAPACITY)
  ring.reset({ epoch: 0, position: 0, limit: Infinity }, depth)
  return ring
}

class World {
  readonly ring: Ring
  private readonly makers: Maker[] = Array.from({ length: MAKERS }, () => ({}))
  /** Who is in the middle of something: the innermost one runs. The owner is −1. */
  private readonly running: { actor: number }[] = []
  private readonly published = new Set<string>()
  private next = 0
  private moving = false
  private taken: number[] = []
  private at = 0

  constructor(
    depth: number,
    private readonly schedule: readonly Event[],
  ) {
    this.ring = makeRing(depth)
  }

  /** Plays the schedule, then has all that was begun finished, without deaths. */
  play(): void {
    while (this.at < this.schedule.length) this.happen(this.schedule[this.at++])
    for (let round = 0; round < 100; round++) {
      this.bury(round % MAKERS)
      this.go(round % MAKERS)
      if (this.moving) this.move()
    }
    const last = this.next + 2 * CAPACITY
    this.ring.limit = last
    for (let round = 0; round < 2000; round++) {
      this.go(round % MAKERS)
      this.take()
      this.release(0)
    }
    expect(this.next).toBe(last)
    this.checkRest()
  }

  /** Called before every atomic operation. */
  readonly between = (operation: Operation, array: unknown, index: number): void => {
    const frame = this.running.at(-1)
    if (frame === undefined || this.at >= this.schedule.length || isSearch(operation, array, index)) return
    const event = this.schedule[this.at++]
    if (event.act === 'die') {
      if (frame.actor >= 0) throw new Death()
    } else this.happen(event)
  }

  private happen({ act, maker }: Event): void {
    if (act === 'go') this.go(maker)
    else if (act === 'die') this.die(maker)
    else if (act === 'bury') this.bury(maker)
    else if (act === 'take') this.take()
    else if (act === 'release') this.release(maker)
    else if (act === 'move') this.move()
    else if (act === 'return') this.makers[maker].outdated = true
    else if (act === 'depth') this.run(-1, () => void (this.ring.depth = DEPTHS[maker]))
    else if (act === 'stride') this.run(-1, () => void this.ring.changeStride(STRIDES[maker]))
  }

  private isRunning(actor: number): boolean {
    return this.running.some(frame => frame.actor === actor)
  }

  private run(actor: number, work: () => void): void {
    if (this.isRunning(actor)) return
    this.running.push({ actor })
    try {
      work()
    } catch (error) {
      if (error instanceof Death) this.makers[actor].dead = true
      else if (!(error instanceof Sleeps)) throw error
    } finally {
      this.running.pop()
    }
  }

  // ---------------------------------------------------------------- makers

  /** One step of a maker. */
  private go(maker: number): void {
    const { ring } = this
    const me = this.makers[maker]
    if (me.dead) return
    this.run(maker, () => {
      if (me.claim === undefined) me.claim = ring.next(maker)
      else if (me.outdated && me.slot === undefined) {
        ring.giveBack(maker)
        this.makers[maker] = {}
      } else if (me.slot === undefined) {
        me.slot = ring.slotOf(me.claim, maker, slot => {
          slot.words[Header.Planned] = ROWS
        })
        if (me.slot === undefined) this.drop(maker)
      } else if (!me.made && ring.paused) this.drop(maker)
      else if (!me.made) this.make(maker, me.claim, me.slot)
      else if (me.closes === undefined) me.closes = ring.finish(me.claim, me.slot)
      else if (me.closes) this.publish(me)
      else this.drop(maker)
    })
  }

  private make(maker: number, { batch, from, to }: Claim, slot: Slot): void {
    for (let row = from; row < to; row++) {
      this.ring.at(maker, row)
      slot.rows[row] = this.ring.generation * 1e6 + batch * ROWS + row
    }
    this.makers[maker].made = true
  }

  private publish(me: Maker): void {
    const { ring } = this
    const slot = me.slot!
    expect([...slot.done]).not.toContain(0)
    ring.publish(slot)
    me.closes = false
    const name = `${ring.generation}/${me.claim!.batch}`
    expect(this.published).not.toContain(name)
    this.published.add(name)
  }

  private drop(maker: number): void {
    this.ring.drop(maker)
    this.makers[maker] = {}
  }

  private die(maker: number): void {
    if (!this.isRunning(maker)) this.makers[maker].dead = true
  }

  // ---------------------------------------------------------------- the owner, one thing at a time

  private bury(maker: number): void {
    if (!this.makers[maker].dead || this.isRunning(maker)) return
    this.run(-1, () => {
      this.checkHeld()
      const lives = (other: number): boolean => !this.makers[other]?.dead
      if (this.ring.abandon(maker, lives) !== UNDECIDED) this.makers[maker] = {}
      this.checkOnce()
    })
  }

  private take(): void {
    if (this.moving) return
    this.run(-1, () => {
      const index = this.ring.ready(this.next)
      if (index === undefined) return
      const { generation } = this.ring
      // Whoever would still write to it would spoil what is delivered.
      expect(this.makers.some(me => !me.made && me.slot && !me.dead && me.claim!.batch === this.next)).toBe(
        false,
      )
      const first = generation * 1e6 + this.next * ROWS
      expect([...this.ring.slots[index].rows]).toEqual(Array.from({ length: ROWS }, (_, row) => first + row))
      expect(this.taken).not.toContain(index)
      this.taken.push(index)
      this.next++
    })
  }

  private release(number: number): void {
    if (this.taken.length === 0 || this.isRunning(-1)) return
    const [index] = this.taken.splice(number % this.taken.length, 1)
    this.run(-1, () => this.ring.release(index))
  }

  /** Goes on from another place, as Feeding.move does: it waits until no maker holds a claim. */
  private move(): void {
    const { ring } = this
    this.run(-1, () => {
      this.moving = true
      ring.pause()
      if (ring.busy) return
      ring.reset({ epoch: 0, position: 0, limit: Infinity }, ring.depth, new Set(this.taken))
      this.moving = false
      this.next = 0
      const free = ring.slots.filter((_, slot) => !this.taken.includes(slot))
      expect(free.some(({ words }) => words[Header.Ready] !== 0)).toBe(false)
    })
  }

  // ---------------------------------------------------------------- what must hold

  /** Of a maker that is at a row it is known which, and the row is one of its claim. */
  private checkHeld(): void {
    for (let maker = 0; maker < MAKERS; maker++) {
      const held = this.ring.held(maker)
      if (held === undefined || held.since === 0) continue
      expect(held.row).toBeGreaterThanOrEqual(held.claim.from)
      expect(held.row).toBeLessThan(held.claim.to)
    }
  }

  /** What is held is not to be made again as well, and nothing is to be made again twice. */
  private checkOnce(): void {
    const { buffer } = this.ring.memory
    const held = new BigInt64Array(buffer, At.Claims, MAKERS).filter(word => word > 0n)
    const again = new BigInt64Array(buffer, At.Redo, MAX_REDO).filter(word => word !== 0n)
    const chunks = [...held, ...again].flatMap(chunksOf)
    expect(chunks).toEqual([...new Set(chunks)])
  }

  /** All is made and delivered: nothing is held, nothing waits, every slot is free. */
  private checkRest(): void {
    const { ring } = this
    while (this.taken.length > 0) this.release(0)
    expect(ring.busy).toBe(false)
    expect(new BigInt64Array(ring.memory.buffer, At.Redo, MAX_REDO).some(word => word !== 0n)).toBe(false)
    expect(ring.words.slice(Word.Opening, Word.Opening + MAX_DEPTH).some(word => word !== 0)).toBe(false)
    expect(ring.words.slice(Word.Holder).some(word => word !== 0)).toBe(false)
  }
}

/** The chunks that a claim's word is about, each with the pass of its batch. */
function chunksOf(word: bigint): string[] {
  const first = BigInt.asUintN(Number(CLAIM_BITS), word)
  const pass = BigInt.asUintN(Number(PASS_BITS), word >> CLAIM_BITS)
  const count = Number(word >> (CLAIM_BITS + PASS_BITS + GENERATION_BITS)) + 1
  return Array.from({ length: count }, (_, i) => `${pass}/${first + BigInt(i)}`)
}

/** The owner looks through long lists when it buries a maker: of those only the first few have anything in them here. */
function isSearch(operation: Operation, array: unknown, index: number): boolean {
  if (operation !== 'load') return false
  return array instanceof BigInt64Array ? index > MAKERS : index >= Word.Opening
}

/** Calls `between` before every atomic operation of `work`. */
function interrupting(between: World['between'], work: () => void): void {
  const originals = {
    ...Object.fromEntries(OPERATIONS.map(name => [name, Atomics[name]])),
    wait: Atomics.wait,
  }
  for (const name of OPERATIONS) {
    const original = Atomics[name] as (...args: unknown[]) => unknown
    Object.assign(Atomics, {
      [name]: (...args: unknown[]) => {
        between(name, args[0], args[1] as number)
        return original(...args)
      },
    })
  }
  const wait = (): never => {
    throw new Sleeps()
  }
  Object.assign(Atomics, { wait })
  try {
    work()
  } finally {
    Object.assign(Atomics, originals)
  }
}

/** How likely each act is: each run has one of these moods. */
const MOODS: Record<Event['act'], number>[] = [
  { none: 12, go: 12, die: 2, bury: 3, take: 2, release: 2, move: 1, return: 1, stride: 0, depth: 0 },
  { none: 6, go: 10, die: 4, bury: 5, take: 1, release: 1, move: 0, return: 6, stride: 1, depth: 0 },
  { none: 6, go: 10, die: 0, bury: 1, take: 1, release: 1, move: 6, return: 1, stride: 1, depth: 1 },
  { none: 6, go: 12, die: 3, bury: 4, take: 1, release: 1, move: 1, return: 2, stride: 6, depth: 0 },
  { none: 6, go: 12, die: 2, bury: 3, take: 2, release: 2, move: 0, return: 1, stride: 4, depth: 4 },
]

/** What the bytes of a schedule mean. */
function decode(mood: number, bytes: Uint8Array): Event[] {
  const acts = Object.entries(MOODS[mood]).flatMap(([act, weight]) =>
    Array.from({ length: weight }, () => act as Event['act']),
  )
  return Array.from(bytes, byte => ({
    act: acts[Math.floor(byte / MAKERS) % acts.length],
    maker: byte % MAKERS,
  }))
}

test('makers that are interrupted and die at any atomic operation lose nothing, and make nothing twice', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: CAPACITY }),
      fc.nat(MOODS.length - 1),
      fc.uint8Array({ minLength: 600, maxLength: 600 }),
      (depth, mood, bytes) => {
        const world = new World(depth, decode(mood, bytes))
        interrupting(world.between, () => world.play())
      },
    ),
    { endOnFailure: true },
  )
})

test('claims of a batch that is open stay as they are, though the depth is lowered before they are changed', () => {
  const ring = makeRing(CAPACITY)
  const { chunks } = ring.layout
  const before = ring.stride
  let claim = ring.next(0)!
  while (claim.batch < CAPACITY - 1) {
    ring.drop(0)
    claim = ring.next(0)!
  }
  ring.drop(0)
  ring.depth = 1
  expect(ring.changeStride(before === 1 ? 2 : 1)).toBe(true)
  ring.depth = CAPACITY
  for (let chunk = before; chunk < chunks; chunk += before) {
    expect(ring.next(0)).toMatchObject({ batch: CAPACITY - 1, count: Math.min(before, chunks - chunk) })
    ring.drop(0)
  }
})

test('a maker that is slow to see that all is made does not close the next batch of the slot', () => {
  for (let moment = 1; moment < 20; moment++) {
    const ring = makeRing(1)
    const claims = Array.from({ length: ring.layout.chunks / ring.stride }, (_, maker) => ring.next(maker)!)
    const slot = ring.slotOf(claims[0], 0, () => {})!
    const last = claims.length - 1
    let seen = 0
    let closed = false
    let closes = false
    // All but the last of the others are done. The last one is interrupted by maker 0, as that one is by the last.
    for (let maker = 1; maker < last; maker++) ring.finish(claims[maker], slot)
    const meanwhile = (): void => {
      if (seen++ !== moment) return
      const finished = ring.finish(claims[last], slot)
      if (!finished) return
      closed = true
      ring.publish(slot)
      ring.release(ring.ready(0)!)
      ring.slotOf(ring.next(last)!, last, () => {}) // batch 1 lies in the same slot now
      slot.done.fill(1) // and is nearly made
    }
    interrupting(meanwhile, () => {
      closes = ring.finish(claims[0], slot)
    })
    expect([moment, closes && closed]).toEqual([moment, false])
  }
})

/** Makes all that may be made. */
function work(ring: Ring, maker: number): void {
  for (let claim = ring.next(maker); claim; claim = ring.next(maker)) {
    const slot = ring.slotOf(claim, maker, () => {})!
    if (ring.finish(claim, slot)) ring.publish(slot)
    ring.drop(maker)
  }
}

test('what a maker has seen before the ring is moved it does not claim afterwards', () => {
  for (let moment = 0; moment < 12; moment++) {
    const ring = makeRing(1)
    work(ring, 0)
    ring.release(ring.ready(0)!)
    let seen = 0
    let inside = false
    let claim: Claim | undefined
    const move = (): void => {
      if (inside || seen++ !== moment) return
      inside = true
      ring.pause()
      if (ring.busy) return
      ring.reset({ epoch: 1, position: 0, limit: Infinity }, 1)
      work(ring, 1) // as far as before: the same number is the next
    }
    interrupting(move, () => {
      claim = ring.next(0)
    })
    // Batch 0 of the new place has the only slot that may be in use.
    if (inside && !ring.paused) expect(claim).toBeUndefined()
  }
})

test('a claim with which a maker died is not lost, though another was about to take it', () => {
  const ring = makeRing(1)
  const lives = (): boolean => true
  let inside = false
  let lost: Claim | undefined
  const die = (operation: Operation, array: unknown): void => {
    const takes = operation === 'compareExchange' && array instanceof BigInt64Array
    if (!takes || inside) return
    inside = true
    lost = ring.next(1)!
    // It had taken the claim, and died before it could note that.
    const words = new BigInt64Array(ring.memory.buffer, At.Claims, MAKERS)
    words[1] = -words[1]
    expect(ring.abandon(1, lives)).toBe(UNDECIDED)
  }
  let next: Claim | undefined
  interrupting(die, () => {
    next = ring.next(0)
  })
  expect(next?.number).toBe(lost!.number + lost!.count)
  expect(ring.abandon(1, lives)).toEqual(lost)
})

test('a batch that another maker closes while a dead one is buried is not made again', () => {
  for (let moment = 0; moment < 2 * MAX_DEPTH; moment++) {
    const ring = makeRing(1)
    const claims = Array.from({ length: ring.layout.chunks / ring.stride }, (_, maker) => ring.next(maker)!)
    const slot = ring.slotOf(claims[0], 0, () => {})!
    const last = claims.length - 1
    for (let maker = 0; maker < last; maker++) {
      ring.finish(claims[maker], slot)
      if (maker > 0) ring.drop(maker) // maker 0 died before it could
    }
    let seen = 0
    let inside = false
    const close = (): void => {
      if (inside || seen++ !== moment) return
      inside = true
      if (ring.finish(claims[last], slot)) ring.publish(slot)
      ring.drop(last)
      inside = false
    }
    interrupting(close, () => expect(ring.abandon(0)).toBeUndefined())
    expect(ring.words[Word.Redo]).toBe(0)
  }
})
