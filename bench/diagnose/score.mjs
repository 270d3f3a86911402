// What counts as right. The rules stand in README.md. Strangers' cores, and what predictions are compared with, were added after the first runs.

export const COUNTS = 0.1
export const SHOWN = 0.03
/** Cores that programs other than the exam's may use: with more, what was planted is not all that is wrong. */
const STRANGERS = 0.3
/** Verdicts that blame nothing. */
const FINE = ['compute-bound', 'launch-bound']

/** What is true of a case, by measurement: the names that count, or why it is not scored. */
export function truthOf({ names, truth }) {
  if (truth.strangers > STRANGERS) return { unscored: `others used ${truth.strangers.toFixed(1)} cores` }
  const counting = names.filter((_, i) => truth.gains[i] >= COUNTS)
  if (counting.length > 0) return { names: counting }
  if (names.length > 1 && truth.all >= COUNTS) return { names, either: true }
  if (Math.max(0, ...truth.gains) >= SHOWN) return { unscored: 'removing it gains 3 to 10 %' }
  if (truth.lost < SHOWN) return { names: FINE, healthy: true }
  return { unscored: `nothing that was planted matters, and ${percent(truth.lost)} is lost` }
}

export function score(result) {
  const { diagnosis } = result
  const true_ = truthOf(result)
  if (diagnosis === undefined) return { true: true_ }
  const { verdict, second, parts } = diagnosis
  const named = [verdict, second]
  const right =
    true_.unscored !== undefined
      ? undefined
      : true_.healthy || true_.either || true_.names.length === 1
        ? true_.names.includes(verdict)
        : true_.names.every(name => named.includes(name))
  const sum = Object.values(parts ?? {}).reduce((a, b) => a + b, 0)
  return {
    true: true_,
    right,
    blamed: true_.healthy === true && !FINE.includes(verdict) && verdict !== 'inconclusive',
    sum,
    addsUp: Math.abs(sum - 1) <= 0.01,
    ...predictionOf(result),
  }
}

/** The prediction of the advice that was carried out, given others' cores in both windows, beside what came. */
function predictionOf({ tried }) {
  if (tried === undefined) return {}
  const adviceLost = tried.gain < -SHOWN
  if (typeof tried.given !== 'number') return { adviceLost }
  return { ...compare(tried.given, tried.gain), adviceLost }
}

/** Predicted and measured rates, as shares of the rate before. */
function compare(predicted, gain) {
  const off = Math.abs(predicted - gain) / (1 + gain)
  return { predicted, gain, off, within: off <= 0.2 }
}

export const percent = share =>
  share === undefined || share === null ? '–' : `${(share * 100).toFixed(1)} %`

/** All cases in figures. */
export function summary(results) {
  const scored = results.filter(({ score }) => score?.right !== undefined)
  const count = (list, test) => list.filter(test).length
  const predicted = results.filter(({ score }) => score?.within !== undefined)
  return {
    cases: results.length,
    scored: scored.length,
    right: count(scored, ({ score }) => score.right),
    share: scored.length === 0 ? null : count(scored, ({ score }) => score.right) / scored.length,
    healthy: count(results, ({ score }) => score?.true.healthy),
    healthyBlamed: count(results, ({ score }) => score?.blamed),
    addUp: count(results, ({ score }) => score?.addsUp),
    asked: count(results, ({ diagnosis }) => diagnosis !== undefined),
    predictions: predicted.length,
    within20: count(predicted, ({ score }) => score.within),
    advice: count(results, ({ tried }) => tried !== undefined),
    adviceLost: count(results, ({ score }) => score?.adviceLost === true),
    failed: results.filter(({ failed, error }) => failed ?? error).map(({ name }) => name),
  }
}

/** True names (rows) against verdicts (columns), scored cases only. */
export function confusion(results) {
  const rows = {}
  for (const { score, diagnosis } of results) {
    if (score?.right === undefined) continue
    const row = score.true.healthy ? 'compute-bound' : score.true.names.join(' + ')
    rows[row] ??= {}
    rows[row][diagnosis.verdict] = (rows[row][diagnosis.verdict] ?? 0) + 1
  }
  return rows
}
