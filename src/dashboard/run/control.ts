/**
 * Changes a run, where `--control` allows it. What is set is set back when the dashboard ends, whichever way: the engine watches
 * the process that asked, and sets back what it changed when that is gone. Only what the user wants to keep stays.
 */
import { MillraceError } from '../../basics/errors.js'
import { Controller } from '../../diagnose/attach/controller.js'
import { diagnoseLive } from '../../diagnose/attach/live.js'
import { sentence } from '../../observe/verdict/words.js'
import type { Setting } from '../server/requests.js'

/** Steps and seconds of a diagnosis that the page asks for. */
const DIAGNOSED = { steps: 200, seconds: 10 }

/** What is controlled, at present. */
export interface Controllable {
  trainer: number
  trainerRing: string
  engine: number
  ring: number
  workers: number
  depth: number
}

interface Held {
  controller: Controller
  engine: number
  ring: number
  before: { workers: number; depth: number }
}

export class RunControl {
  /** While something is set that is not to be kept. */
  private held: Held | undefined
  private busy = false

  /** `run`: the one that is shown; throws where there is none. */
  constructor(private readonly run: () => Controllable) {}

  /** Whether something is set that will be set back. */
  get isHolding(): boolean {
    return this.held !== undefined
  }

  set({ workers, depth, keep = false, undo = false }: Setting): Promise<object> {
    return this.alone(async () => {
      const { engine, ring, ...now } = this.run()
      if (undo) return this.undo()
      const isFirst = this.held === undefined
      const { controller, before } = await this.hold(engine, ring)
      let set: { workers: number; depth: number } = isFirst ? before : now
      try {
        if (workers !== undefined || depth !== undefined) set = await controller.ask({ workers, depth })
      } catch (error) {
        if (isFirst) this.release() // nothing was set
        throw error
      }
      if (before.workers === set.workers && before.depth === set.depth) this.release()
      if (keep) this.release()
      return { workers: set.workers, depth: set.depth, kept: keep }
    })
  }

  diagnose(): Promise<object> {
    return this.alone(async () => {
      const { trainer, trainerRing } = this.run()
      if (this.held)
        throw new MillraceError('workers or depth are changed for now: keep that, or set it back, before')
      const found = await diagnoseLive(trainer, {
        ...DIAGNOSED,
        ring: trainerRing,
        control: true,
        apply: false,
        progress: () => {},
      })
      const { recorded: _, ...told } = found
      return { ...told, sentence: sentence(found) }
    })
  }

  /** Sets back what is not to be kept. On Ctrl-C, too: nothing is waited for. */
  close(): void {
    const { held } = this
    this.held = undefined
    try {
      held?.controller.write({ ...held.before, restUntil: 1 }, true)
    } catch {
      // The engine has ended: nothing is left to be set back.
    }
  }

  /** The run has ended: there is nothing to be set back. */
  forget(): void {
    if (this.held !== undefined) this.release()
  }

  private async undo(): Promise<object> {
    const { held } = this
    if (held === undefined) throw new MillraceError('nothing was changed that could be set back')
    await held.controller.ask(held.before)
    this.release()
    return { ...held.before, kept: false }
  }

  /** Asks for nothing at first: the engine's tuner then takes back what it is trying, and the answer is how things stand. */
  private async hold(engine: number, ring: number): Promise<Held> {
    if (this.held !== undefined && (this.held.engine !== engine || this.held.ring !== ring)) this.close()
    if (this.held !== undefined) return this.held
    const controller = Controller.open(engine, ring)
    try {
      const { workers, depth } = await controller.ask({})
      this.held = { controller, engine, ring, before: { workers, depth } }
    } catch (error) {
      controller.close()
      throw error
    }
    return this.held
  }

  /** All stays as it is now, and others may ask. */
  private release(): void {
    try {
      this.held?.controller.close()
    } catch {
      // The engine has ended.
    }
    this.held = undefined
  }

  private async alone(act: () => Promise<object>): Promise<object> {
    if (this.busy)
      throw new MillraceError('the run is being changed or diagnosed already: wait until that is done')
    this.busy = true
    try {
      return await act()
    } finally {
      this.busy = false
    }
  }
}
