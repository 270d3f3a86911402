// The words and numbers of the report, from the JSON beside it. Plain browser JavaScript without a build step:
// words.js, parts.js, waits.js, timeline.js and moves.js are joined, in this order, into one script.
const data = JSON.parse(document.getElementById('data').textContent)
const runs = data.runs

const WORK = ['read', 'decode', 'transform', 'map', 'close']
const KINDS = [['compute', 'trainer computes'], ['wait', 'trainer waits'], ...WORK.map(kind => [kind, kind])]

const byId = id => document.getElementById(id)
const element = (tag, properties = {}, ...children) => {
  const node = Object.assign(document.createElement(tag), properties)
  node.append(...children)
  return node
}
const number = (n, digits = 0) =>
  n.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
/** A number and its unit stay on one line. */
const NBSP = '\u00a0'
const percent = fraction => `${number(fraction * 100, 1)}${NBSP}%`
const money = amount => `${data.price.currency ?? '$'}${number(amount, 2)}`
const time = ms => {
  const [amount, unit] =
    ms >= 10_000
      ? [number(ms / 1000, 1), 's']
      : ms >= 1000
        ? [number(ms / 1000, 2), 's']
        : ms >= 10
          ? [number(ms, 1), 'ms']
          : ms >= 0.1 || ms === 0
            ? [number(ms, 2), 'ms']
            : [number(ms * 1000), 'µs']
  return `${amount}${NBSP}${unit}`
}

function writeHead() {
  byId('machine').textContent = `${data.machine} · ${data.date.replace(/T(\d\d:\d\d).*Z$/, ' $1 UTC')}`
  byId('versions').textContent = Object.entries(data.versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(' · ')
  const first = runs[0]
  const best = runs.reduce((a, b) => (b.gpuBusy > a.gpuBusy ? b : a), first)
  if (!first) return
  const saved = first.idleCostPerHour - best.idleCostPerHour
  byId('lede').textContent =
    best === first
      ? `The GPU was busy ${percent(first.gpuBusy)} of the time.`
      : `Fed “${first.name}”, the GPU was busy ${percent(first.gpuBusy)} of the time; fed “${best.name}”, ` +
        `${percent(best.gpuBusy)}. At ${money(data.price.perHour)} an hour${data.price.what ? ` for ${data.price.what}` : ''}, ` +
        `that is ${money(saved)} less for standing still, every hour.`
}

function writeCards() {
  for (const run of runs) {
    const faster = runs[0].samplesPerSecond > 0 ? run.samplesPerSecond / runs[0].samplesPerSecond : 0
    const times = run === runs[0] || faster === 0 ? '' : ` · ${number(faster, faster < 10 ? 1 : 0)}×`
    const meter = element('div', { className: 'meter' }, element('span'))
    meter.firstChild.style.width = `${run.gpuBusy * 100}%`
    meter.setAttribute('role', 'img')
    meter.setAttribute('aria-label', `GPU busy ${percent(run.gpuBusy)}`)
    const facts = [
      ['GPU busy', percent(run.gpuBusy)],
      ['wait per step', time(run.waitMsPerStep)],
      ['idling costs per hour', money(run.idleCostPerHour)],
    ].flatMap(([name, value]) => [
      element('dt', { textContent: name }),
      element('dd', { textContent: value }),
    ])
    byId('cards').append(
      element(
        'article',
        { className: 'card' },
        element('h3', { textContent: run.name }),
        element('p', { className: 'quiet', textContent: run.what }),
        element(
          'div',
          { className: 'figure', textContent: number(run.samplesPerSecond) },
          element('small', { textContent: ` samples/s${times}` }),
        ),
        meter,
        element('dl', {}, ...facts),
      ),
    )
  }
}

function writeTable() {
  const titles = ['', 'samples/s', 'GPU busy', 'wait per step', 'steps', 'longest wait', 'idle cost per hour']
  const head = element('tr', {}, ...titles.map(text => element('th', { scope: 'col', textContent: text })))
  const rows = runs.map(run => {
    const longest = run.steps.reduce((most, step) => Math.max(most, step.wait), 0)
    const cells = [
      number(run.samplesPerSecond),
      percent(run.gpuBusy),
      time(run.waitMsPerStep),
      number(run.steps.length),
      time(longest),
      money(run.idleCostPerHour),
    ]
    return element(
      'tr',
      {},
      element('th', { scope: 'row', textContent: run.name }),
      ...cells.map(text => element('td', { textContent: text })),
    )
  })
  byId('numbers').append(element('thead', {}, head), element('tbody', {}, ...rows))
}

function writeLegend() {
  for (const [kind, text] of KINDS) {
    const swatch = element('i')
    swatch.style.background = `var(--${kind})`
    byId('legend').append(element('li', {}, swatch, text))
  }
}

writeHead()
writeCards()
writeLegend()
writeTable()
