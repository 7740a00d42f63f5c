/** The page's style sheet, over the colours of all pages (core/pages/colours.ts). */
import { families, mono, sans, themes } from '../../../core/pages/colours.ts';

/** The square of a fault's family. */
export const swatches = `
.swatch{width:10px;height:10px;border-radius:3px;align-self:center;background:var(--muted)}
${Object.keys(families)
  .map((family) => `.swatch.${family}{background:var(--${family})}`)
  .join('')}
`;

export const styles = `${themes}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:flex;flex-direction:column;background:var(--panel);color:var(--ink);font:15px/1.5 ${sans};font-variant-numeric:tabular-nums}
h1,h2,h3,p,ul,dl,dd{margin:0;padding:0}
code,.address,.replay,dd,.number,.since{font-family:${mono};font-size:.86em}
button,input,select{font:inherit;font-size:13px;color:inherit;background:var(--raised);border:1px solid var(--rule);border-radius:6px;padding:4px 9px;min-height:30px}
button{cursor:pointer}
button:hover{border-color:var(--muted)}
button[aria-pressed=true]{background:var(--ink);border-color:var(--ink);color:var(--ground)}
:focus-visible{outline:2px solid var(--accent);outline-offset:1px}
.link{border:0;background:none;padding:0;min-height:0;color:var(--accent);text-decoration:underline;text-underline-offset:2px;text-align:left;overflow-wrap:anywhere;font-size:1em}
.quiet{color:var(--muted)}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
header{width:100%;padding:20px 28px 16px;display:grid;grid-template-columns:minmax(0,1.25fr) minmax(0,1fr);gap:14px 48px;max-width:1760px}
.facts{display:flex;flex-wrap:wrap;gap:0 18px;font-size:13px;color:var(--muted);margin-bottom:4px;overflow-wrap:anywhere}
h1{font-size:24px;line-height:1.25;font-weight:650;letter-spacing:-.01em;overflow-wrap:anywhere}
.about{color:var(--muted);max-width:76ch;margin-top:4px;overflow-wrap:anywhere}
.verdict{margin-top:14px;padding:12px 16px;border-left:4px solid var(--muted);background:var(--raised);border-radius:0 8px 8px 0;max-width:92ch;overflow-wrap:anywhere}
.verdict strong{font-size:17px;font-weight:620}
.verdict.passed{border-color:var(--good)}.verdict.passed strong{color:var(--good)}
.verdict.failed,.verdict.violated,.verdict.stuck{border-color:var(--bad)}
.verdict.failed strong,.verdict.violated strong,.verdict.stuck strong{color:var(--bad)}
.verdict p{margin-top:3px}
.pairs dt{color:var(--muted);font-size:13px}
.replay{margin-top:12px;display:flex;gap:10px;align-items:center;min-width:0}
.replay code{flex:0 1 auto;padding:5px 10px;background:var(--raised);border:1px solid var(--rule);border-radius:6px;overflow-wrap:anywhere;font-size:13px}
#marks{display:grid;gap:2px;align-content:start}
h2{font-size:13px;font-weight:650;color:var(--muted)}
.marks{list-style:none;font-size:13px;max-height:172px;overflow:auto}
.marks li{display:flex;gap:0 9px;align-items:baseline;flex-wrap:wrap;padding:1px 0}
.marks strong{font-weight:600}
.jump{padding:0 7px;min-height:22px;font-family:${mono};font-size:12px}
.jump.bad{color:var(--bad);border-color:var(--bad)}
${swatches}
.tools{display:flex;flex-wrap:wrap;gap:8px;align-items:center;padding:9px 28px;border-top:1px solid var(--rule);border-bottom:1px solid var(--rule);background:var(--panel)}
.tools .set{display:flex}
.tools .set button{border-radius:0;margin-left:-1px}
.tools .set button:first-child{border-radius:6px 0 0 6px}.tools .set button:last-child{border-radius:0 6px 6px 0}
.tools input{width:15ch}.tools #words{width:24ch}.tools select{max-width:16ch}
.chip{border-radius:14px;padding:3px 10px;min-height:28px}
.chip[aria-pressed=true]{background:var(--raised);color:var(--ink);border-color:var(--line)}
.chip[aria-pressed=false]{color:var(--muted);text-decoration:line-through;background:none}
#kinds{display:flex;gap:4px;flex-wrap:wrap}
#count{margin-left:auto;color:var(--muted);font-size:13px}
main{display:grid;grid-template-columns:minmax(0,1fr) 384px;grid-template-rows:minmax(0,1fr);flex:1 1 0;min-height:540px;height:540px}
#scroller{overflow:auto;position:relative;background:var(--ground);min-width:0;outline-offset:-2px}
#diagram{position:sticky;top:0;left:0;display:block}
aside{border-left:1px solid var(--rule);overflow:auto;display:grid;align-content:start}
aside>section{padding:16px 20px}
aside>section+section{border-top:1px solid var(--rule)}
.event-head{display:flex;gap:9px;align-items:baseline;margin:2px 0 8px;flex-wrap:wrap;overflow-wrap:anywhere}
.event-head strong{font-size:16px;font-weight:620}
.number,.since{color:var(--muted);margin-left:auto;white-space:nowrap}
.kind{font-size:12px;color:var(--muted);border:1px solid var(--rule);border-radius:4px;padding:0 6px}
.kind-violation{color:var(--bad);border-color:var(--bad)}
.pairs{display:grid;grid-template-columns:minmax(56px,auto) minmax(0,1fr);gap:1px 14px}
.pairs dd{overflow-wrap:anywhere;font-size:12.5px;line-height:1.55}
aside h3{font-size:13px;font-weight:650;margin:12px 0 4px}
.moment{display:flex;flex-wrap:wrap;align-items:center;gap:4px 10px;margin-top:6px}
.moment input[type=range]{flex:1 1 100%;padding:0;border:0;background:none;accent-color:var(--accent)}
.moment input[type=search]{flex:1}
.process{display:flex;gap:8px;align-items:baseline}
.health{font-weight:500;font-size:12px;color:var(--good)}
.health.down{color:var(--bad)}.health.paused,.health.cut-off{color:var(--process)}
.actor{padding:5px 0 6px 11px;border-left:2px solid var(--rule)}
.actor.changed{border-color:var(--accent)}
.actor-head{display:flex;gap:8px;align-items:baseline;flex-wrap:wrap}
.actor .address{overflow-wrap:anywhere}
.actor .state{font-size:12px;background:var(--lane-1);border-radius:4px;padding:0 7px}
details.keys{font-size:13px;color:var(--muted)}
kbd{font:12px ${mono};border:1px solid var(--rule);border-radius:4px;padding:0 4px;background:var(--raised);color:var(--ink)}
@media (max-width:900px){header{grid-template-columns:1fr}main{grid-template-columns:1fr;grid-template-rows:auto;height:auto;flex:none}#scroller{height:70vh}aside{border-left:0;border-top:1px solid var(--rule)}}
@media print{.tools,main,#copy,.link,.jump{display:none}body{background:#fff;color:#000}.marks{max-height:none}}
`;
