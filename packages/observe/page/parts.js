// Where the time of a step went: one bar a run, whose parts add up to 100 %, and one line of why and what to do.
const PARTS = [
  ['ideal', 'ideal step', 'compute'],
  ['slowed', 'slowed', 'map'],
  ['handOver', 'hand-over', 'transform'],
  ['transfer', 'copy to the GPU', 'decode'],
  ['running', 'making batches', 'wait'],
  ['queued', 'waiting for cores', 'queued'],
  ['blocked', 'waiting for storage or a function', 'read'],
  ['noSlot', 'no free slot', 'close'],
]

function partsBar(parts) {
  const bar = element('div', { className: 'parts' })
  bar.setAttribute('role', 'img')
  const shown = PARTS.filter(([name]) => parts[name] > 0.0005)
  bar.setAttribute('aria-label', shown.map(([name, text]) => `${text} ${percent(parts[name])}`).join(', '))
  for (const [name, text, colour] of shown) {
    const part = element('span', { title: `${text}: ${percent(parts[name])}` })
    part.style.width = `${parts[name] * 100}%`
    part.style.background = `var(--${colour})`
    // A number fits into a part of some width.
    if (parts[name] >= 0.07) part.textContent = percent(parts[name])
    bar.append(part)
  }
  return bar
}

function writeParts() {
  const told = runs.filter(run => run.parts)
  if (told.length === 0) return
  byId('parts-section').hidden = false
  for (const [, text, colour] of PARTS.filter(([name]) => told.some(run => run.parts[name] > 0.0005))) {
    const swatch = element('i')
    swatch.style.background = `var(--${colour})`
    byId('parts-legend').append(element('li', {}, swatch, text))
  }
  for (const run of told)
    byId('parts').append(
      element(
        'article',
        { className: 'told' },
        element('h3', { textContent: `${run.name}: lost ${percent(run.lost ?? 1 - run.parts.ideal)}` }),
        partsBar(run.parts),
        element('p', { textContent: run.why ?? '' }),
      ),
    )
}

writeParts()
