// Looking around: zooming, moving, pointing and printing. Everything is drawn again from `view` and `pointer`.
const pointer = { at: undefined }
const SHORTEST = 0.02 // ms: the closest that one can look

function addPanels(holder, describe, label) {
  return runs.map(run => {
    const canvas = element('canvas')
    canvas.setAttribute('aria-label', label(run))
    canvas.setAttribute('role', 'img')
    const title = element('header', {}, element('h3', { textContent: run.name }))
    title.append(element('span', { className: 'quiet', textContent: describe(run) }))
    byId(holder).append(element('div', { className: 'panel' }, title, canvas))
    return canvas
  })
}

const canvases = addPanels(
  'timelines',
  run => run.what,
  run =>
    `Timeline of ${run.name}: ${run.steps.length} steps, the GPU busy ${percent(run.gpuBusy)} of the time, ` +
    `${run.workers.length} workers. Use + and − to zoom, the arrow keys to move.`,
)
const waitCanvases = addPanels(
  'waits',
  run => `${time(run.waitMsPerStep)} on average`,
  run =>
    `Wait before each of ${run.steps.length} steps of ${run.name}, ${time(run.waitMsPerStep)} on average`,
)

/** Shows [from, to], kept within the run and not closer than the eye can use. */
function show(from, to) {
  const span = Math.min(whole, Math.max(SHORTEST, to - from))
  view.from = Math.min(Math.max(0, from), whole - span)
  view.to = view.from + span
  draw()
}

function zoom(factor, centre = (view.from + view.to) / 2) {
  show(centre - (centre - view.from) * factor, centre + (view.to - centre) * factor)
}

const move = fraction =>
  show(view.from + fraction * (view.to - view.from), view.to + fraction * (view.to - view.from))
const showAll = () => show(0, whole)
function showSome() {
  const ends = runs.map(run => run.steps.slice(0, 10).at(-1)).filter(Boolean)
  show(0, Math.max(1, ...ends.map(step => step.start + step.wait + step.compute)) * 1.02)
}

const buttons = { in: () => zoom(0.5), out: () => zoom(2), some: showSome, all: showAll }
for (const button of document.querySelectorAll('button[data-view]')) {
  button.addEventListener('click', buttons[button.dataset.view])
}

const keys = {
  '+': () => zoom(0.5),
  '=': () => zoom(0.5),
  '-': () => zoom(2),
  ArrowLeft: () => move(-0.2),
  ArrowRight: () => move(0.2),
  Home: () => move(-1e9),
  End: () => move(1e9),
  0: showAll,
  1: showSome,
}

/** The time under the mouse. */
function timeAt(canvas, event) {
  const box = canvas.getBoundingClientRect()
  return view.from + ((event.clientX - box.left - GUTTER) / (box.width - GUTTER)) * (view.to - view.from)
}

/** What is under the mouse, in words. */
function describeAt(timeline, canvas, event) {
  const y = event.clientY - canvas.getBoundingClientRect().top
  const row = timeline.rows.find(candidate => y >= candidate.top && y < candidate.top + candidate.height)
  const at = timeAt(canvas, event)
  if (row === undefined || at < view.from || at > timeline.end) return undefined
  const i = firstAfter(row, at)
  if (i >= row.starts.length || row.starts[i] > at) return `${row.name}: idle\nat ${time(at)}`
  const kind = KINDS[row.kinds[i]][1]
  if (row.height !== TRAIN_ROW)
    return `${row.name}: ${kind} ${time(row.ends[i] - row.starts[i])}\nat ${time(row.starts[i])}`
  const number = timeline.run.steps.findLastIndex(step => step.start <= at)
  const step = timeline.run.steps[number]
  return `step ${number + 1}: ${kind}\nwaited ${time(step.wait)}, computed ${time(step.compute)}\nat ${time(step.start)}`
}

function showTip(text, event) {
  const tip = byId('tip')
  tip.hidden = text === undefined
  if (text === undefined) return
  tip.textContent = text
  const left =
    event.clientX + 14 + tip.offsetWidth > innerWidth
      ? event.clientX - 14 - tip.offsetWidth
      : event.clientX + 14
  tip.style.left = `${Math.max(4, left)}px`
  tip.style.top = `${Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 4)}px`
}

canvases.forEach((canvas, i) => {
  canvas.tabIndex = 0
  let grabbed
  canvas.addEventListener(
    'wheel',
    event => {
      event.preventDefault()
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(event.deltaX / 1000)
      else zoom(Math.exp(Math.min(1, Math.max(-1, event.deltaY / 300))), timeAt(canvas, event))
    },
    { passive: false },
  )
  canvas.addEventListener('pointerdown', event => {
    canvas.setPointerCapture(event.pointerId)
    canvas.classList.add('dragging')
    grabbed = timeAt(canvas, event)
  })
  canvas.addEventListener('pointerup', () => {
    canvas.classList.remove('dragging')
    grabbed = undefined
  })
  canvas.addEventListener('pointermove', event => {
    const at = timeAt(canvas, event)
    if (grabbed !== undefined) show(view.from + grabbed - at, view.to + grabbed - at)
    pointer.at = at >= view.from && at <= view.to ? at : undefined
    showTip(describeAt(timelines[i], canvas, event), event)
    draw()
  })
  canvas.addEventListener('pointerleave', () => {
    pointer.at = undefined
    showTip(undefined)
    draw()
  })
  canvas.addEventListener('dblclick', showAll)
  canvas.addEventListener('keydown', event => {
    const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key]
    if (act === undefined) return
    event.preventDefault()
    act()
  })
})

waitCanvases.forEach((canvas, i) => {
  canvas.addEventListener('pointermove', event => {
    const box = canvas.getBoundingClientRect()
    const part = (event.clientX - box.left - GUTTER) / (box.width - GUTTER)
    const step = runs[i].steps[Math.floor(part * runs[i].steps.length)]
    showTip(step && `step ${runs[i].steps.indexOf(step) + 1}\nwaited ${time(step.wait)}`, event)
  })
  canvas.addEventListener('pointerleave', () => showTip(undefined))
})

/** Paper is white: the canvases are drawn again in the colours of the light theme. */
function onPaper(printing) {
  document.documentElement.classList.toggle('print', printing)
  drawNow()
}
addEventListener('beforeprint', () => onPaper(true))
addEventListener('afterprint', () => onPaper(false))

drawNow()
