/** Finished runs beside each other: which is best and why, where their time went, and what their threads did. */

import { useMemo, useState } from 'preact/hooks'
import { PART_NAMES } from '../account/parts.js'
import type { Card, Rates, ReportData, ReportRun, Timeline } from '../dashboard/view.js'
import { bytes, ms, percent, rate } from '../verdict/units.js'
import { Chart } from './draw/chart.js'
import { roundUp, topOfWaits } from './draw/scale.js'
import { type Look, Timelines } from './draw/timelines.js'
import { PartsBar } from './first/step-bar.js'
import { Copy, Sentence } from './first/verdict.js'
import { fill, Legend } from './legend.js'
import { Shell } from './shell.js'
import { count, duration } from './words/format.js'
import { partWords, shortWords } from './words/parts.js'

/** Parts below this share of every run are not in the legend. */
const SEEN = 0.005
/** The first steps, which a key shows. */
const SOME_STEPS = 10
/** Words of more letters have a line of their own. */
const LONG = 60

const KEYS: [string, string][] = [
  ['1', 'timeline: the first ten steps'],
  ['← →', 'the next point of a chart'],
]

type Has<K extends keyof ReportRun> = ReportRun & Required<Pick<ReportRun, K>>

export function Report({ data }: { data: ReportData }) {
  const { title, machine, versions, date, headline, commands = [], cards, runs, rates, table, facts } = data
  const having = <K extends keyof ReportRun>(...keys: K[]) =>
    runs.filter((run): run is Has<K> => keys.every(key => run[key] !== undefined))
  const stepped = having('stepMs', 'parts')
  const waited = having('waits')
  const timed = having('steps', 'workers')
  const remembered = having('memory')
  const where = `${machine} · ${date.replace(/T(\d\d:\d\d).*Z$/, ' $1 UTC')}`
  return (
    <Shell
      keys={KEYS}
      line={
        <>
          <h2 class="run">{title}</h2>
          <span class="where" title={where}>
            {where}
          </span>
        </>
      }
    >
      {say => (
        <>
          <Sentence {...headline}>
            {commands.map(({ text, about }) => (
              <div key={text} class="do">
                <div class="acts">
                  <Copy text={text} what="command" say={say} />
                  <span class="detail">{about}</span>
                </div>
              </div>
            ))}
          </Sentence>
          <ul class="cards" aria-label="Headline numbers">
            {cards.map(card => (
              <CardOf key={`${card.title} ${card.what}`} {...card} />
            ))}
          </ul>
          {stepped.length > 0 && <Steps runs={stepped} />}
          {(rates !== undefined || waited.length > 0) && (
            <div class="two">
              {rates !== undefined && <RatesChart {...rates} />}
              <section class="box">
                <h2>
                  How long steps waited<small>all rounds; the first batch stands apart</small>
                </h2>
                {waited.map(run => (
                  <Histogram key={run.name} run={run} range={waitRange(waited)} />
                ))}
              </section>
            </div>
          )}
          {remembered.length > 0 && <Memory runs={remembered} />}
          {timed.length > 0 && <Threads runs={timed} />}
          {timed.length > 0 && waited.length === 0 && <Waits runs={timed} />}
          <section class="box">
            <h2>In numbers</h2>
            <div class="scroll">
              <table class="numbers">
                <thead>
                  <tr>
                    {table.columns.map(name => (
                      <th key={name} scope="col">
                        {name}
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {table.rows.map(({ cells: [name, ...cells], mark }) => (
                    <tr key={name}>
                      <th scope="row">
                        {name} <Mark of={mark} />
                      </th>
                      {cells.map((cell, i) => (
                        <td key={table.columns[i + 1]}>{cell}</td>
                      ))}
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          </section>
          {facts !== undefined && (
            <section class="box">
              <h2>How it was measured</h2>
              <dl class="facts">
                {facts.map(([name, value]) => (
                  <div key={name} class={value.length > LONG ? 'wide' : ''}>
                    <dt>{name}</dt>
                    <dd>{value}</dd>
                  </div>
                ))}
              </dl>
            </section>
          )}
          <p class="quiet-text">
            {Object.entries(versions)
              .map(([name, version]) => `${name} ${version}`)
              .join(' · ')}
          </p>
        </>
      )}
    </Shell>
  )
}

function Mark({ of }: { of?: string }) {
  return of === undefined ? null : <span class="tag">{of}</span>
}

function CardOf({ title, what, value, unit, busy, figures }: Card) {
  return (
    <li class="box card">
      <h2>{title}</h2>
      <p class="quiet-text">{what}</p>
      <p class="big">
        {value} <small>{unit}</small>
      </p>
      {busy !== undefined && (
        <div class="track" role="img" aria-label={`GPU busy ${percent(busy)}`}>
          <span class="fill" style={{ width: `${100 * busy}%` }} />
        </div>
      )}
      <dl class="facts">
        {figures.map(([name, figure]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{figure}</dd>
          </div>
        ))}
      </dl>
    </li>
  )
}

/** Where the time of a step went: a bar a run, as long as its steps took. */
function Steps({ runs }: { runs: Has<'stepMs' | 'parts'>[] }) {
  const words = partWords(null, { workers: 1, map: null })
  const short = shortWords(null)
  const longest = Math.max(...runs.map(({ stepMs }) => stepMs))
  const shown = PART_NAMES.filter(part => runs.some(({ parts }) => parts[part] >= SEEN))
  return (
    <section class="box">
      <h2>
        Where the time of a step went
        <small>first batches left out; a shorter bar is better, all beside “training” is lost</small>
      </h2>
      <Legend label="Parts of a step" of={shown.map(part => [part, words[part]])} />
      <ul class="bars">
        {runs.map(({ name, mark, stepMs, parts, lost, why }) => (
          <li key={name}>
            <span class="name">
              <b>{name}</b> <Mark of={mark} />
            </span>
            <div class="bar-line">
              <PartsBar parts={parts} words={words} short={short} width={(0.8 * stepMs) / longest} />
              <span>
                {ms(stepMs)}
                {lost !== undefined && `, lost ${percent(lost)}`}
              </span>
            </div>
            {why !== undefined && <p class="quiet-text">{why}</p>}
          </li>
        ))}
      </ul>
    </section>
  )
}

function Memory({ runs }: { runs: Has<'memory'>[] }) {
  const most = Math.max(...runs.map(({ memory }) => memory.bytes))
  return (
    <section class="box">
      <h2>
        Memory and CPU time
        <small>the process at its largest, with the shared memory that it had reserved</small>
      </h2>
      <ul class="bars">
        {runs.map(({ name, mark, memory }) => (
          <li key={name}>
            <span class="name">
              <b>{name}</b> <Mark of={mark} />
            </span>
            <div class="bar-line">
              <div class="bar" style={{ ...fill('transfer'), width: `${(60 * memory.bytes) / most}%` }} />
              <span>
                {bytes(memory.bytes)}
                {memory.about}
              </span>
            </div>
          </li>
        ))}
      </ul>
    </section>
  )
}

function RatesChart({ points, knee, demand }: Rates) {
  const last = Math.max(1, ...points.map(({ workers }) => workers))
  const top = Math.max(demand ?? 0, ...points.map(({ max }) => max))
  const step = Math.ceil(last / 12)
  const ticks = points.map(({ workers }): [number, string] => [workers, String(workers)])
  const nearest = (at: number) =>
    points.reduce((near, one) => (Math.abs(one.workers - at) < Math.abs(near.workers - at) ? one : near))
  return (
    <section class="box">
      <h2>
        Samples a second against workers
        <small>means of all rounds, from the slowest to the fastest</small>
      </h2>
      <Chart
        label={`Samples a second against workers: ${points.map(({ workers, mean }) => `${workers}: ${count(mean)}`).join(', ')}`}
        height={280}
        from={-0.3}
        to={last + 0.3}
        top={roundUp(top)}
        format={value => count(value)}
        series={[
          {
            name: 'rate',
            look: 'calm',
            points: points.map(({ workers, mean }) => [workers, mean]),
            spread: points.map(({ min, max }) => [min, max]),
          },
          ...(demand === null
            ? []
            : [
                {
                  name: 'demand',
                  look: 'demand',
                  points: [
                    [-0.3, demand],
                    [last + 0.3, demand],
                  ] as [number, number][],
                },
              ]),
        ]}
        marks={
          knee === null
            ? []
            : [
                {
                  time: knee,
                  sign: `knee: ${knee}`,
                  kind: 'knee',
                  title: '',
                  text: 'the fewest workers that give 95 % of the most',
                },
              ]
        }
        describe={at => {
          const { name, mean, min, max } = nearest(at)
          return [name, `${rate(mean)} (${count(min)} to ${count(max)})`]
        }}
        empty=""
        last=""
        axis={{
          ticks: ticks.filter(([at]) => at % step === 0 || at === last),
          title: at => `${nearest(at).workers} workers`,
          step: 1,
        }}
      />
      {demand !== null && (
        <p class="quiet-text">Dotted: the {count(demand)} samples/s that the trainer could take.</p>
      )}
    </section>
  )
}

/** One range for all histograms (ms), so that they can be compared. */
function waitRange(runs: Has<'waits'>[]): [number, number] {
  const longest = Math.max(
    10,
    ...runs.flatMap(({ waits }) => [waits.first, ...waits.steps.map(([wait]) => wait)]),
  )
  return [0.01, 10 ** Math.ceil(Math.log10(longest) + 0.02)]
}

const BINS = 44

/** Steps by how long they waited, in steps of the logarithm. */
function Histogram({ run: { name, mark, waits }, range }: { run: Has<'waits'>; range: [number, number] }) {
  const [least, most] = range.map(Math.log10)
  const wide = (most - least) / BINS
  const counts = new Array<number>(BINS).fill(0)
  const place = (wait: number) => (Math.log10(Math.max(wait, range[0])) - least) / wide
  for (const [wait, steps] of waits.steps) counts[Math.min(BINS - 1, Math.floor(place(wait)))] += steps
  const all = counts.reduce((sum, one) => sum + one, 0)
  const decades = Array.from({ length: Math.floor(most - least) + 1 }, (_, i): [number, string] => [
    least + i,
    duration(10 ** (least + i)).replace(/\.0+\b/, ''),
  ])
  const bin = (at: number) => Math.min(BINS - 1, Math.max(0, Math.floor((at - least) / wide)))
  return (
    <>
      <h3>
        {name} <Mark of={mark} />
      </h3>
      <Chart
        label={`How long steps of ${name} waited`}
        height={118}
        from={least}
        to={most}
        top={roundUp(Math.max(1, ...counts))}
        format={value => count(value)}
        series={[
          {
            name: 'waits',
            columns: wide,
            points: counts.map((steps, i) => [least + (i + 0.5) * wide, steps]),
          },
        ]}
        marks={[
          {
            time: least + place(waits.first) * wide,
            sign: `first batch: ${ms(waits.first)}`,
            kind: 'first',
            title: '',
            text: `The first batch took ${ms(waits.first)}.`,
          },
        ]}
        describe={at => [`${count(counts[bin(at)])} of ${count(all)} steps`]}
        empty=""
        last=""
        axis={{
          ticks: decades,
          title: at => `waited about ${ms(10 ** (least + (bin(at) + 0.5) * wide))}`,
          step: wide,
        }}
      />
    </>
  )
}

/** The wait before each step. A first batch takes many times as long as the others, and would make hairlines of them. */
function Waits({ runs }: { runs: Has<'steps'>[] }) {
  const top = topOfWaits(runs.map(({ steps }) => steps.map(({ wait }) => wait)))
  return (
    <section class="box">
      <h2>
        Wait before each step
        <small>on one scale for all runs; bars with a point go on beyond it, such as the first batch's</small>
      </h2>
      {runs.map(({ name, steps }) => {
        const later = steps.slice(1)
        const mean = later.reduce((sum, { wait }) => sum + wait, 0) / Math.max(1, later.length)
        const first = steps[0]?.wait ?? 0
        const nearest = (at: number) => Math.min(steps.length, Math.max(1, Math.round(at)))
        return (
          <div key={name}>
            <h3>
              {name}
              <small>
                {ms(mean)} on average{first > top && `, the first batch ${ms(first)}`}
              </small>
            </h3>
            <Chart
              label={`Wait before each of ${steps.length} steps of ${name}, ${ms(mean)} on average`}
              height={104}
              from={0.5}
              to={steps.length + 0.5}
              top={top}
              format={value => (value === 0 ? '0' : ms(value))}
              series={[{ name: 'waits', columns: 1, points: steps.map(({ wait }, i) => [i + 1, wait]) }]}
              describe={at => [`waited ${ms(steps[nearest(at) - 1].wait)}`]}
              empty="No step was made."
              last={`step ${count(steps.length)}`}
              axis={{ ticks: [[1, '1']], title: at => `step ${count(nearest(at))}`, step: 1 }}
            />
          </div>
        )
      })}
    </section>
  )
}

function Threads({ runs }: { runs: Has<'steps' | 'workers'>[] }) {
  const shown = useMemo(
    () => runs.map(run => ({ name: run.name, note: run.mark ?? run.what, data: timelineOf(run) })),
    [],
  )
  const whole = Math.max(1, ...shown.map(({ data }) => data.to))
  const all: Look = { span: whole, end: null }
  const [look, setLook] = useState(all)
  const some = () => {
    const ends = runs.map(({ steps }) => steps.slice(0, SOME_STEPS).at(-1))
    const end = Math.max(1, ...ends.map(step => (step ? step.start + step.wait + step.compute : 0)))
    setLook({ span: end, end })
  }
  return (
    <section class="box">
      <h2>
        Timeline
        <small>
          one scale for all runs. Wheel or +/− zooms, dragging or ←/→ moves. Where a column of pixels holds
          many spans, their heights are their shares of it.
        </small>
      </h2>
      <Timelines runs={shown} since="begin" look={look} onLook={setLook} most={whole} keys={{ 1: some }}>
        <button type="button" onClick={some} title="The first ten steps (1)">
          Ten steps
        </button>
        <button type="button" onClick={() => setLook(all)} title="Everything (0)">
          All
        </button>
      </Timelines>
    </section>
  )
}

type Lane = Timeline['lanes'][number]

function timelineOf({ steps, workers, setup, epochs = [] }: Has<'steps' | 'workers'>): Timeline {
  const lane = (name: string, kind: Lane['kind'], spans: Lane['spans']): Lane => ({
    name,
    kind,
    rank: null,
    spans,
  })
  const trainer = steps.flatMap(({ start, wait, compute }, i): Lane['spans'] => [
    [start, wait, 'wait', i, 0],
    [start + wait, compute, 'step', i, 0],
  ])
  if (setup !== undefined) trainer.unshift([setup[0], setup[1] - setup[0], 'setup', -1, 0])
  const lanes = [
    lane('trainer', 'consumer', trainer),
    ...workers.map(({ name, spans }) =>
      lane(
        name,
        'worker',
        spans.map(([kind, start, length]) => [start, length, kind, -1, 0]),
      ),
    ),
    ...(epochs.length === 0
      ? []
      : [
          lane(
            'epochs',
            'epochs',
            epochs.map(({ epoch, start, end }) => [start, end - start, 'epoch', epoch, 0]),
          ),
        ]),
  ]
  const ends = lanes.map(({ spans }) =>
    spans.reduce((last, [start, length]) => Math.max(last, start + length), 0),
  )
  return { from: 0, to: Math.max(0, ...ends), lanes }
}
