// The exam in words: a table of cases, the confusion matrix, and the bars.
import { confusion, percent, summary } from './score.mjs'

function table(head, rows) {
  const line = cells => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

/** One case as cells. */
export function cellsOf({ name, kind, truth, diagnosis, score, failed, error, tried }) {
  if (failed ?? error)
    return [
      name,
      kind,
      '',
      '',
      '',
      `failed: ${(failed ?? error).split('\n').find(Boolean)?.slice(0, 90)}`,
      '',
      '',
      '',
    ]
  const true_ = score.true.unscored
    ? 'not scored'
    : score.true.healthy
      ? 'healthy'
      : score.true.names.join(' + ')
  const mark = { true: 'right', false: 'WRONG', undefined: '–' }[String(score.right)]
  return [
    name,
    kind,
    truth.gains.map(percent).join(', ') || '–',
    percent(truth.lost),
    true_,
    diagnosis === undefined
      ? '–'
      : `${diagnosis.verdict}${diagnosis.stage ? ` (${diagnosis.stage})` : ''}${diagnosis.second ? `, ${diagnosis.second}` : ''}`,
    mark,
    diagnosis === undefined ? '–' : percent(score.sum),
    score.predicted === undefined
      ? tried === undefined
        ? '–'
        : `none, came ${percent(tried.gain)}`
      : `${percent(score.predicted)}, came ${percent(score.gain)}${score.within ? '' : ' OFF'}`,
  ]
}

export function report(result) {
  const { results } = result
  const s = summary(results)
  const matrix = confusion(results)
  const columns = [...new Set(Object.values(matrix).flatMap(Object.keys))].sort()
  const of = (a, b) => `${a} of ${b}`
  return `${[
    '# The exam of diagnose',
    `${result.date}, ${result.machine}, commit ${result.commit ?? 'unknown'}, seed ${result.seed}, ${result.lanes} lanes of ${result.coresOfLane} cores: \`${result.command}\``,
    table(
      ['bar', 'wanted', 'reached'],
      [
        [
          'verdicts right',
          '≥ 90 %',
          `${of(s.right, s.scored)}${s.share === null ? '' : `, ${percent(s.share)}`}`,
        ],
        ['healthy ones blamed', '0', of(s.healthyBlamed, s.healthy)],
        ['parts add up to 100 % ± 1 %', 'all', of(s.addUp, s.asked)],
        ['predictions within 20 %', '≥ 80 %', of(s.within20, s.predictions)],
        ['advice that lost more than 3 %', '0', of(s.adviceLost, s.advice)],
        ['cases that failed', '0', `${s.failed.length}${s.failed.length ? `: ${s.failed.join(', ')}` : ''}`],
      ],
    ),
    '## Verdicts (columns) by what was true (rows)',
    table(
      ['true', ...columns],
      Object.entries(matrix).map(([row, found]) => [
        row,
        ...columns.map(column => String(found[column] ?? '')),
      ]),
    ),
    '## Cases',
    'Gain: what removing the fault gains, measured in turns; for two faults, removing each by itself. Lost: 1 − step without data / step.',
    table(
      ['case', 'planted', 'gain', 'lost', 'true', 'verdict, second', '', 'parts', 'gain predicted'],
      results.map(cellsOf),
    ),
  ].join('\n\n')}\n`
}
