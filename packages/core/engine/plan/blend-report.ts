/** Says how often a run sees each corpus of a blend of tokens, and warns where that is more often than it should be. */
import type { NamedManifest } from '../../source/combine/named.js'
import type { FeedPlan } from './plan.js'

/** Epochs of a corpus above which its repetition is worth a warning: what is seen more often teaches less and less. */
const MAX_EPOCHS = 4

interface Seen {
  name: string
  epochs: number
}

/** `draws`: of the whole run, where that is known; otherwise it is about an epoch of the blend. */
export function blendNotices(plan: FeedPlan, draws?: number): string[] {
  const { source } = plan.feed
  if (!('blend' in source) || plan.order.drawnBefore === undefined) return []
  const manifests = plan.sources.map(({ manifest }) => manifest as NamedManifest)
  if (manifests.some(({ child }) => child.trained === undefined)) return []
  const drawn = plan.order.drawnBefore(draws ?? plan.length)
  const rows = manifests.map(({ child }) => child.epochRows ?? child.fingerprint.count)
  const corpora = manifests.map(({ corpus, name = '' }) => corpus ?? name)
  const seen = [...new Set(corpora)].map((name): Seen => {
    const members = corpora.flatMap((corpus, i) => (corpus === name ? [i] : []))
    const sum = (of: ArrayLike<number>) => members.reduce((all, i) => all + of[i], 0)
    return { name, epochs: sum(drawn) / sum(rows) }
  })
  // The files of a corpus may differ.
  const files = plan.sources.flatMap(({ name = '' }, i): Seen[] =>
    corpora.filter(corpus => corpus === corpora[i]).length > 1 ? [{ name, epochs: drawn[i] / rows[i] }] : [],
  )
  const whole =
    draws === undefined ? `an epoch of the blend (${plan.length} rows)` : `this run (${draws} rows)`
  const most = source.blend.maxEpochs ?? MAX_EPOCHS
  const listed = seen.map(({ name, epochs }) => `${name} ${times(epochs)}`).join(', ')
  const often = [...seen, ...files].filter(({ epochs }) => epochs > most)
  return [
    `blend: ${whole} sees ${listed}`,
    ...often
      .slice(0, 8)
      .map(
        ({ name, epochs }) =>
          `blend: "${name}" is seen ${times(epochs)}, more than ${most} times: lower its weight, end the run sooner, or raise "maxEpochs"`,
      ),
  ]
}

function times(epochs: number): string {
  const digits = epochs >= 100 ? 0 : epochs >= 0.095 ? 2 : 4
  return `${Number(epochs.toFixed(digits))} times`
}
