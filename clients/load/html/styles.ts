/** The page's style sheet, with the rules of uPlot's own for the parts that the plots use. */
const colours = {
  ground: ['#fcfbf8', '#16181c'],
  raised: ['#ffffff', '#24282e'],
  ink: ['#22262b', '#e4e2dc'],
  muted: ['#6a6e75', '#9a9ea6'],
  rule: ['#dfdbd2', '#343940'],
  good: ['#2b7a4b', '#6cc792'],
  missed: ['#8a6a00', '#d9b84a'],
  bad: ['#c0203c', '#ff7388'],
} as const;

const variables = (theme: 0 | 1) =>
  Object.entries(colours)
    .map(([name, pair]) => `--${name}:${pair[theme]};`)
    .join('');

export const styles = `
:root{color-scheme:light dark;${variables(0)}}
@media (prefers-color-scheme:dark){:root{${variables(1)}}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1200px;padding:20px 28px;background:var(--ground);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif;font-variant-numeric:tabular-nums}
h1{font-size:24px;margin:0}
h2{font-size:17px;margin:28px 0 4px}
h2 small{color:var(--muted);font-weight:400}
p,ul{margin:4px 0}
ul{padding-left:18px;list-style:none}
.facts{display:flex;flex-wrap:wrap;gap:0 18px;font-size:13px;color:var(--muted)}
.verdict{margin:12px 0;padding:10px 16px;border-left:4px solid var(--good);background:var(--raised);overflow-wrap:anywhere}
.verdict.bad{border-color:var(--bad)}
.verdict.missed{border-color:var(--missed)}
.verdict strong{font-size:17px}
li.bad,tr.worse td:last-child,.errors{color:var(--bad)}
tr.better td:last-child{color:var(--good)}
.warning{border-left:4px solid var(--missed);padding:4px 12px;background:var(--raised)}
.quiet{color:var(--muted);font-size:13px}
table{border-collapse:collapse;font-size:13px;margin:6px 0}
th,td{padding:2px 12px 2px 0;text-align:right;border-bottom:1px solid var(--rule)}
th:first-child{text-align:left;font-weight:500}
thead th{color:var(--muted);font-weight:400}
.endpoint th{padding-left:16px;font-weight:400}
#plots h2{font-size:14px;margin:16px 0 0;font-weight:600}
.uplot,.uplot *{box-sizing:border-box}
.uplot{width:100%;line-height:1.4;font-size:12px}
.u-wrap{position:relative;user-select:none}
.u-over,.u-under{position:absolute}
.u-under{overflow:hidden}
.uplot canvas{display:block;position:relative;width:100%;height:100%}
.u-axis{position:absolute}
.u-legend{margin:auto;text-align:center}
.u-inline{display:block}
.u-inline *{display:inline-block}
.u-inline tr{margin-right:16px}
.u-legend th,.u-legend td{border:0;padding:0 4px;vertical-align:middle}
.u-legend .u-marker{width:1em;height:1em;margin-right:4px;background-clip:padding-box!important}
.u-series>*{padding:4px}
.u-series th{cursor:pointer}
.u-off>*{opacity:.3}
.u-select{background:rgba(0,0,0,.07);position:absolute;pointer-events:none}
.u-cursor-x,.u-cursor-y{position:absolute;left:0;top:0;pointer-events:none;will-change:transform}
.u-hz .u-cursor-x{height:100%;border-right:1px dashed var(--muted)}
.u-hz .u-cursor-y{width:100%;border-bottom:1px dashed var(--muted)}
.u-cursor-pt{position:absolute;top:0;left:0;border-radius:50%;border:0 solid;pointer-events:none;will-change:transform;background-clip:padding-box!important}
.u-axis.u-off,.u-select.u-off,.u-cursor-x.u-off,.u-cursor-y.u-off,.u-cursor-pt.u-off{display:none}
`;
