// The wait before each step, as bars on one scale for all runs. The first batch of a run takes many times as long as the
// others, and would make hairlines of them: the scale is that of the others, and what is taller is cut off and marked.
const WAITS_HEIGHT = 96
const WAITS_TOP = 12 // px above the scale, for the marks of bars that are cut off

/** The least of 1, 2, 5 · 10^k that is not below `n`. */
function roundUp(n) {
  const power = 10 ** Math.floor(Math.log10(n))
  return [1, 2, 5, 10].map(digit => digit * power).find(round => round >= n)
}

/** Top of the scale (ms): what 99 of 100 steps after the first stay below, in the run that waits most. */
function topOfWaits(all) {
  const usual = all.map(({ steps }) => {
    const waits = (steps.length > 1 ? steps.slice(1) : steps).map(step => step.wait).sort((a, b) => a - b)
    return waits[Math.ceil(waits.length * 0.99) - 1] ?? 0
  })
  return roundUp(Math.max(0.001, ...usual))
}

const most = topOfWaits(runs)

/** A gap through a bar, and a point on it: it goes on. */
function markCut(pen, x, width, colour) {
  pen.fillStyle = colour('card')
  pen.fillRect(x - 1, WAITS_TOP + 5, width + 2, 2)
  pen.fillStyle = colour('wait')
  pen.beginPath()
  pen.moveTo(x, WAITS_TOP)
  pen.lineTo(x + width, WAITS_TOP)
  pen.lineTo(x + width / 2, WAITS_TOP - 6)
  pen.fill()
}

// biome-ignore lint/correctness/noUnusedVariables: timeline.js calls it
function drawWaits(run, canvas) {
  const { pen, width } = prepare(canvas, WAITS_HEIGHT)
  const colour = colours()
  const plot = width - GUTTER
  const floor = WAITS_HEIGHT - 18
  const high = floor - WAITS_TOP
  pen.textAlign = 'right'
  for (const part of [0, 0.5, 1]) {
    const y = floor - part * high
    pen.fillStyle = colour('line')
    pen.fillRect(GUTTER, Math.round(y), plot, 1)
    pen.fillStyle = colour('quiet')
    pen.fillText(part === 0 ? '0' : time(part * most).replace(/\.0+(?=\s)/, ''), GUTTER - 10, y)
  }
  const slot = plot / Math.max(1, run.steps.length)
  const bar = Math.max(slot - (slot > 4 ? 1 : 0), 0.75)
  run.steps.forEach((step, i) => {
    pen.fillStyle = colour('wait')
    const x = GUTTER + i * slot
    pen.fillRect(x, floor - Math.min(1, step.wait / most) * high, bar, Math.min(1, step.wait / most) * high)
    if (step.wait > most) markCut(pen, x, Math.max(bar, 3), colour)
  })
  pen.textAlign = 'left'
  const first = run.steps[0]
  if (first !== undefined && first.wait > most) writeFirst(pen, first, GUTTER + Math.max(bar, 3) + 6, colour)
  pen.fillStyle = colour('quiet')
  pen.fillText('step 1', GUTTER, WAITS_HEIGHT - 7)
  pen.textAlign = 'right'
  pen.fillText(`step ${number(run.steps.length)}`, width, WAITS_HEIGHT - 7)
}

/** What the first bar would have shown, beside it and readable over others. */
function writeFirst(pen, first, x, colour) {
  const text = `first batch: ${time(first.wait)}`
  pen.fillStyle = colour('card')
  pen.globalAlpha = 0.85
  pen.fillRect(x - 3, WAITS_TOP - 9, pen.measureText(text).width + 6, 18)
  pen.globalAlpha = 1
  pen.fillStyle = colour('ink')
  pen.fillText(text, x, WAITS_TOP)
}
