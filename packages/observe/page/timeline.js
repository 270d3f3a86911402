// Draws the timelines: every run by the same functions, over one shared view of time.
const GUTTER = 96 // px, names of the rows
const AXIS = 22 // px, the time scale on top
const TRAIN_ROW = 34
const WORKER_ROW = 18
const ROW_GAP = 4

// ---------------------------------------------------------------- rows of the timeline

/** Spans of a row in columns, sorted by start: quick to search and to add up. */
function rowOf(name, height, spans) {
  const known = span => span[2] > 0 && KINDS.some(([kind]) => kind === span[0])
  const sorted = spans.filter(known).sort((a, b) => a[1] - b[1])
  return {
    name,
    height,
    kinds: Uint8Array.from(sorted, span => KINDS.findIndex(([kind]) => kind === span[0])),
    starts: Float64Array.from(sorted, span => span[1]),
    ends: Float64Array.from(sorted, span => span[1] + span[2]),
  }
}

const timelines = runs.map(run => {
  const train = run.steps.flatMap(step => [
    ['wait', step.start, step.wait],
    ['compute', step.start + step.wait, step.compute],
  ])
  const rows = [
    rowOf('trainer', TRAIN_ROW, train),
    ...run.workers.map(worker => rowOf(worker.name, WORKER_ROW, worker.spans)),
  ]
  const end = Math.max(0, ...rows.map(row => row.ends.at(-1) ?? 0))
  return { run, rows, end }
})
const whole = Math.max(1, ...timelines.map(timeline => timeline.end))
const view = { from: 0, to: whole }

/** Index of the first span that ends after `at`. Spans of a row don't overlap, so ends ascend as well. */
function firstAfter(row, at) {
  let low = 0
  let high = row.ends.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (row.ends[middle] <= at) low = middle + 1
    else high = middle
  }
  return low
}

// ---------------------------------------------------------------- drawing

const colours = () => {
  const style = getComputedStyle(document.documentElement)
  return name => style.getPropertyValue(`--${name}`).trim()
}

function prepare(canvas, height) {
  const width = canvas.clientWidth
  const sharp = window.devicePixelRatio || 1
  canvas.width = Math.round(width * sharp)
  canvas.height = Math.round(height * sharp)
  canvas.style.height = `${height}px`
  const pen = canvas.getContext('2d')
  pen.scale(sharp, sharp)
  pen.clearRect(0, 0, width, height)
  pen.font = '12px system-ui, sans-serif'
  pen.textBaseline = 'middle'
  return { pen, width }
}

/** Shares of each kind in each pixel column: share[kind * width + x]. */
function sharesOf(row, width) {
  const share = new Float32Array(KINDS.length * width)
  const perPixel = (view.to - view.from) / width
  for (let i = firstAfter(row, view.from); i < row.starts.length && row.starts[i] < view.to; i++) {
    const from = Math.max(0, (row.starts[i] - view.from) / perPixel)
    const to = Math.min(width, (row.ends[i] - view.from) / perPixel)
    const base = row.kinds[i] * width
    for (let x = Math.floor(from); x < to; x++) share[base + x] += Math.min(to, x + 1) - Math.max(from, x)
  }
  return share
}

function drawRow(pen, row, top, left, width, colour) {
  pen.fillStyle = colour('track')
  pen.fillRect(left, top, width, row.height)
  const share = sharesOf(row, width)
  const below = new Float32Array(width)
  KINDS.forEach(([kind], k) => {
    pen.fillStyle = colour(kind)
    for (let x = 0; x < width; x++) {
      const part = share[k * width + x]
      if (part < 0.004) continue
      const high = part * row.height
      // Neighbouring columns of the same share are one rectangle: no seams, fewer calls.
      let end = x + 1
      while (end < width && share[k * width + end] === part && below[end] === below[x]) end++
      pen.fillRect(left + x, top + row.height - below[x] - high, end - x, high)
      for (let i = x; i < end; i++) below[i] += high
      x = end - 1
    }
  })
}

/** Hairlines between the steps, as soon as there is room to see them. */
function drawSteps(pen, steps, top, left, width, colour) {
  const perPixel = (view.to - view.from) / width
  if (steps.length === 0 || (steps.at(-1).start - steps[0].start) / steps.length < 8 * perPixel) return
  pen.fillStyle = colour('card')
  for (const step of steps) {
    const x = (step.start - view.from) / perPixel
    if (x > 0 && x < width) pen.fillRect(left + x, top, 1, TRAIN_ROW)
  }
}

function drawAxis(pen, left, width, height, colour) {
  const span = view.to - view.from
  const rough = span / Math.max(2, Math.floor(width / 110))
  const step = roundUp(rough)
  pen.textAlign = 'left'
  for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
    const x = Math.round(left + ((t - view.from) / span) * width) + 0.5
    pen.fillStyle = colour('line')
    pen.fillRect(x, AXIS - 6, 1, height - AXIS + 6)
    pen.fillStyle = colour('quiet')
    const text = axisLabel(t, step)
    if (x + 4 + pen.measureText(text).width <= left + width) pen.fillText(text, x + 4, AXIS / 2 - 2)
  }
}

function axisLabel(t, step) {
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9))
  if (whole >= 2000 && step >= 100)
    return `${number(t / 1000, Math.max(0, 3 - Math.floor(Math.log10(step))))} s`
  return `${number(t, digits)} ms`
}

function drawTimeline(timeline, canvas) {
  const height = AXIS + timeline.rows.reduce((sum, row) => sum + row.height + ROW_GAP, 0)
  const { pen, width } = prepare(canvas, height)
  const colour = colours()
  const plot = Math.max(10, Math.floor(width - GUTTER))
  drawAxis(pen, GUTTER, plot, height, colour)
  let top = AXIS
  for (const row of timeline.rows) {
    pen.fillStyle = colour(row.height === TRAIN_ROW ? 'ink' : 'quiet')
    pen.textAlign = 'right'
    pen.fillText(row.name, GUTTER - 10, top + row.height / 2, GUTTER - 12)
    drawRow(pen, row, top, GUTTER, plot, colour)
    if (row.height === TRAIN_ROW) drawSteps(pen, timeline.run.steps, top, GUTTER, plot, colour)
    row.top = top
    top += row.height + ROW_GAP
  }
  const end = ((timeline.end - view.from) / (view.to - view.from)) * plot
  if (end >= 0 && end < plot - 2) {
    pen.fillStyle = colour('card')
    pen.fillRect(GUTTER + end, AXIS, plot - end, height - AXIS) // what was never run is no idle time
    pen.fillStyle = colour('quiet')
    pen.fillRect(GUTTER + end, AXIS, 1.5, height - AXIS - ROW_GAP)
    pen.textAlign = 'left'
    const text = `done after ${time(timeline.end)}`
    if (end + 16 + pen.measureText(text).width < plot)
      pen.fillText(text, GUTTER + end + 8, AXIS + TRAIN_ROW / 2)
  }
  if (pointer.at !== undefined) {
    pen.fillStyle = colour('ink')
    pen.globalAlpha = 0.45
    pen.fillRect(GUTTER + ((pointer.at - view.from) / (view.to - view.from)) * plot, AXIS, 1, height - AXIS)
    pen.globalAlpha = 1
  }
}

let asked = false
function draw() {
  if (asked) return
  asked = true
  requestAnimationFrame(drawNow)
}
function drawNow() {
  asked = false
  timelines.forEach((timeline, i) => {
    drawTimeline(timeline, canvases[i])
  })
  runs.forEach((run, i) => {
    drawWaits(run, waitCanvases[i])
  })
}
addEventListener('resize', draw)
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw)
