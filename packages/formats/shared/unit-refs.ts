/** References to units, made once and given to all rows of a unit: the engine then plans a unit once, not once a claim. */
import type { Leaf, UnitRef } from '../../core/source/source.js'

/** References that are kept: more than a window or a batch has of units, mostly. */
const KEPT = 64

export class UnitRefs {
  private readonly kept: (UnitRef | undefined)[] = new Array(KEPT)

  constructor(private readonly leaf: Leaf) {}

  /** The reference to a unit, for columns that are asked for by the same list every time. */
  of(unit: number, columns: readonly string[]): UnitRef {
    const at = unit % KEPT
    const kept = this.kept[at]
    if (kept !== undefined && kept.unit === unit && kept.columns === columns) return kept
    const ref = { leaf: this.leaf, unit, columns }
    this.kept[at] = ref
    return ref
  }
}
