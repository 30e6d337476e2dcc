"""How the page looks: light and dark, on a desk, on a phone, and on paper."""

STYLE = """
:root {
  color-scheme: light dark;
  --paper: #fbfaf7; --card: #ffffff; --ink: #1d2320; --soft: #5c655f; --line: #e3e2db; --grid: #eceae3;
  --accent: #0b6e4f; --accent-soft: #0b6e4f26; --strong: #b3431f; --code: #f3f1ea;
  --c0: #0b6e4f; --c1: #c07a1e; --c2: #3b6ea5; --c3: #a0476b; --c4: #5f7f2c; --c5: #7456a8; --c6: #2f8f94; --c-none: #9a9f9b;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #141816; --card: #1b211e; --ink: #e8ebe6; --soft: #a3aca5; --line: #2f3833; --grid: #262e2a;
    --accent: #4cc79a; --accent-soft: #4cc79a2e; --strong: #f0905f; --code: #202724;
    --c0: #4cc79a; --c1: #e3ab5c; --c2: #79aee0; --c3: #dd8bad; --c4: #a5c76b; --c5: #b39ae0; --c6: #68c3c7; --c-none: #7d867f;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
main, header, footer { max-width: 46rem; margin: 0 auto; padding: 0 1rem; }
header { padding-top: 3rem; }
h1, h2 { font-family: "Iowan Old Style", "Palatino Linotype", Palatino, Georgia, serif; font-weight: 600; text-wrap: balance; }
h1 { font-size: clamp(1.8rem, 1.3rem + 2.4vw, 2.6rem); line-height: 1.15; margin: 0 0 .6rem; overflow-wrap: anywhere; }
h2 { font-size: 1.35rem; line-height: 1.25; margin: 0 0 .35rem; }
.lead { font-size: 1.12rem; color: var(--soft); margin: 0 0 1.6rem; max-width: 38rem; overflow-wrap: anywhere; }
.lead b { color: var(--ink); font-weight: 600; }
.numbers { display: grid; grid-template-columns: repeat(4, 1fr); gap: .7rem; margin: 0 0 1rem; padding: 0; }
.numbers div { background: var(--card); border: 1px solid var(--line); border-radius: .7rem; padding: .8rem .9rem; }
.numbers dt { color: var(--soft); font-size: .82rem; line-height: 1.3; }
.numbers dd { margin: .15rem 0 0; font-size: 1.5rem; font-weight: 600; font-variant-numeric: tabular-nums; line-height: 1.2; }
.numbers small { display: block; color: var(--soft); font-size: .78rem; font-weight: 400; margin-top: .2rem; }
section { background: var(--card); border: 1px solid var(--line); border-radius: .9rem; padding: 1.3rem 1.4rem; margin: 1rem 0; }
section > p { color: var(--soft); margin: 0 0 1rem; max-width: 38rem; font-size: .95rem; overflow-wrap: anywhere; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; }
.pair section { margin: 0; min-width: 0; }
svg { display: block; max-width: 100%; height: auto; margin: 0 auto; }
svg.narrow { display: none; }
svg text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; fill: var(--ink); }
svg .tick { fill: var(--soft); font-size: 11px; font-variant-numeric: tabular-nums; }
svg .soft, svg .label { fill: var(--soft); }
svg .bold { font-weight: 600; fill: var(--strong); }
svg .axis { stroke: var(--soft); stroke-width: 1; }
svg .grid { stroke: var(--grid); stroke-width: 1; }
svg .mark { stroke: var(--soft); stroke-width: 1; }
svg .dashed { stroke-dasharray: 3 4; }
svg .curve { fill: none; stroke: var(--accent); stroke-width: 2; stroke-linejoin: round; }
svg .dot.accent { fill: var(--accent); }
svg .dot.strong { fill: var(--strong); stroke: var(--card); stroke-width: 2; }
svg .see-through { fill-opacity: .55; }
svg .ring { fill: var(--card); stroke: var(--soft); stroke-width: 1.6; }
svg .bar { fill: var(--accent); fill-opacity: .85; }
svg .whisker { stroke: var(--accent); stroke-width: 1.4; stroke-opacity: .6; }
svg .c0 { fill: var(--c0); } svg .c1 { fill: var(--c1); } svg .c2 { fill: var(--c2); } svg .c3 { fill: var(--c3); }
svg .c4 { fill: var(--c4); } svg .c5 { fill: var(--c5); } svg .c6 { fill: var(--c6); } svg .c-none { fill: var(--c-none); }
svg .s0 { stroke: var(--c0); } svg .s1 { stroke: var(--c1); } svg .s2 { stroke: var(--c2); } svg .s3 { stroke: var(--c3); }
svg .s4 { stroke: var(--c4); } svg .s5 { stroke: var(--c5); } svg .s6 { stroke: var(--c6); } svg .s-none { stroke: var(--c-none); }
svg .method { fill: none; stroke-width: 1.8; } svg .interval { stroke-width: 1.2; stroke-opacity: .55; }
svg .flow { fill-opacity: .26; } svg .flow:hover { fill-opacity: .5; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .38rem .7rem .38rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 500; font-size: .82rem; }
tr:last-child > td, tr:last-child > th { border-bottom: 0; }
.n { text-align: right; white-space: nowrap; }
.name { overflow-wrap: anywhere; }
.quiet { color: var(--soft); }
.best td { font-weight: 600; }
.confusion { width: auto; margin: 0 auto; }
.confusion td { text-align: center; padding: .75rem 1rem; border: 2px solid var(--card); border-radius: .4rem; min-width: 4.2rem; font-weight: 600; }
.confusion td small { display: block; font-weight: 400; color: var(--soft); }
.confusion th { border: 0; overflow-wrap: anywhere; max-width: 8rem; }
.confusion .top { text-align: center; padding-right: 0; }
.hit { background: color-mix(in srgb, var(--accent) calc(var(--share) * 55%), transparent); }
.miss { background: color-mix(in srgb, var(--strong) calc(var(--share) * 60%), transparent); }
dl.facts { display: grid; grid-template-columns: minmax(6rem, auto) 1fr; gap: .3rem 1.2rem; margin: 0; font-size: .92rem; }
dl.facts dt { color: var(--soft); } dl.facts dd { margin: 0; overflow-wrap: anywhere; min-width: 0; }
pre { background: var(--code); border-radius: .6rem; padding: .9rem 1rem; margin: 0; overflow-x: auto; font-size: .84rem; line-height: 1.5; }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.key { display: flex; flex-wrap: wrap; gap: .3rem 1rem; list-style: none; padding: 0; margin: .8rem 0 0; font-size: .85rem; color: var(--soft); }
.key i { display: inline-block; width: .75rem; height: .75rem; border-radius: .2rem; margin-right: .35rem; vertical-align: -1px; }
footer { color: var(--soft); font-size: .85rem; padding: 1rem 1rem 3rem; }
@media (max-width: 700px) {
  header { padding-top: 1.8rem; }
  .numbers { grid-template-columns: 1fr 1fr; }
  .pair { grid-template-columns: 1fr; gap: 0; }
  .pair section { margin: .5rem 0; }
  section { padding: 1rem .7rem; margin: .7rem 0; }
  svg.wide { display: none; } svg.narrow { display: block; }
  dl.facts { grid-template-columns: 1fr; gap: 0; } dl.facts dd { margin-bottom: .5rem; }
  th, td { padding-right: .45rem; }
}
@media print {
  :root { color-scheme: light; --paper: #fff; --card: #fff; --ink: #000; --soft: #444; --line: #ccc; --grid: #e5e5e5;
    --accent: #0b6e4f; --strong: #b3431f; --code: #f5f5f5;
    --c0: #0b6e4f; --c1: #c07a1e; --c2: #3b6ea5; --c3: #a0476b; --c4: #5f7f2c; --c5: #7456a8; --c6: #2f8f94; --c-none: #9a9f9b; }
  body { font-size: 10.5pt; }
  header { padding-top: 0; }
  main, header, footer { max-width: none; padding-left: 0; padding-right: 0; }
  section, .numbers div { border-color: #ccc; break-inside: avoid; }
  h2 { break-after: avoid; }
  pre { white-space: pre-wrap; }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
}
"""
