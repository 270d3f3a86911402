/** The look of the report, in light and dark. */
export const STYLE = `
:root { color-scheme: light dark; --ground: #f6f7f5; --card: #fff; --ink: #17211e; --quiet: #5d6b66; --line: #dde3df; --track: #eef1ee;
  --good: #147a5c; --ideal: #1f9d78; --slowed: #d08a1d; --handOver: #8b98a5; --transfer: #7b5bd3; --running: #e4572e; --queued: #a8324a;
  --blocked: #3f83e6; --noSlot: #b9a04e; --memory: #6f8fbf; --made: #7b5bd3; --setup: #8b98a5; --epoch: #b8c7bf; --first: #a8324a; }
@media (prefers-color-scheme: dark) { :root { --ground: #101614; --card: #18201d; --ink: #e8efeb; --quiet: #94a39d; --line: #2a3531;
  --track: #212b27; --good: #4cc79f; --ideal: #2fb48b; --slowed: #e0a94a; --handOver: #8494a0; --transfer: #a58bff; --running: #ff7a50;
  --queued: #e0607a; --blocked: #6aa5ff; --noSlot: #cdb868; --memory: #7fa0d6; --made: #a58bff; --setup: #8494a0; --epoch: #3d4e47;
  --first: #e0607a; } }
* { box-sizing: border-box }
body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "Noto Sans", sans-serif;
  font-variant-numeric: tabular-nums }
main { max-width: 1180px; margin: 0 auto; padding: 36px 24px 48px }
h1 { margin: 0 0 10px; font-size: 28px; line-height: 1.2; letter-spacing: -.015em }
h2 { margin: 0 0 4px; font-size: 18px } h3 { margin: 14px 0 4px; font-size: 14px } .panel > h3:first-child { margin-top: 0 }
p { margin: 0 0 6px } section { margin-top: 32px }
.lede { font-size: 18px; max-width: 86ch } .quiet { color: var(--quiet) } .hint { font-size: 13.5px; max-width: 100ch; margin-bottom: 10px }
.panel { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 16px 18px; overflow-x: auto }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(420px, 1fr)); gap: 16px }
code, pre { font: 13.5px ui-monospace, "SF Mono", Menlo, Consolas, monospace } pre { margin: 8px 0 0; white-space: pre-wrap }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(240px, 1fr)); gap: 16px; margin-top: 24px }
.card .big { font-size: 26px; font-weight: 650; letter-spacing: -.02em } .card .label { color: var(--quiet); font-size: 13px }
.card.good { border-color: var(--good) } .card.good .big { color: var(--good) }
table { border-collapse: collapse; width: 100%; font-size: 13.5px } th, td { padding: 5px 10px; text-align: right; white-space: nowrap }
th { color: var(--quiet); font-weight: 500; border-bottom: 1px solid var(--line) } td { border-bottom: 1px solid var(--line) }
th:first-child, td:first-child, th:last-child, td:last-child { text-align: left } dl.why { grid-template-columns: 1fr } .why dd { text-align: left; flex: 1 } .why dt { min-width: 12ch }
tr:last-child td { border-bottom: 0 } tr.best td { font-weight: 650 } .tag { color: var(--good); font-weight: 600; font-size: 12px; margin-left: 6px }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(330px, 1fr)); gap: 4px 24px; margin: 0; font-size: 13.5px }
dl div { display: flex; gap: 10px; justify-content: space-between; border-bottom: 1px solid var(--line); padding: 3px 0 }
dt { color: var(--quiet); white-space: nowrap } dd { margin: 0; text-align: right; overflow-wrap: anywhere }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 4px 16px; margin: 0 0 10px; padding: 0; font-size: 13px }
.key { display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin-right: 6px; vertical-align: -1px }
svg { display: block; width: 100%; height: auto; min-width: 420px } svg text { fill: var(--ink); font-size: 12.5px; font-family: inherit }
svg .tick { fill: var(--quiet); font-size: 11.5px } svg .name { font-size: 12.5px } svg .marked { font-weight: 650 } svg .value { fill: var(--quiet) }
svg .mark { fill: var(--good); font-weight: 600; font-size: 11.5px } svg .grid { stroke: var(--line) } svg .track { fill: var(--track) }
svg .curve { fill: none; stroke: var(--ideal); stroke-width: 2 } svg .dot { fill: var(--ideal); stroke: var(--card); stroke-width: 1.5 }
svg .whisker { stroke: var(--ideal); stroke-width: 1.5; opacity: .7 } svg .knee { stroke: var(--running); stroke-dasharray: 4 4 }
svg .knee-text { fill: var(--running); font-weight: 600 } svg .demand { stroke: var(--quiet); stroke-dasharray: 2 4 }
svg .wait { fill: var(--running) } svg .first { stroke: var(--first); stroke-width: 2 } svg .first-text { fill: var(--first); font-weight: 600 }
svg .memory { fill: var(--memory) } svg .made { fill: var(--made) } svg .setup { fill: var(--setup) } svg .train { fill: var(--ideal) }
svg .epoch { fill: var(--epoch) } svg .on-bar { fill: var(--ink); font-size: 11.5px }
${['ideal', 'slowed', 'handOver', 'transfer', 'running', 'queued', 'blocked', 'noSlot'].map(part => `.part-${part} { fill: var(--${part}); background: var(--${part}) }`).join('\n')}
@media (max-width: 600px) { .pair { grid-template-columns: 1fr } main { padding: 20px 12px } }
`
