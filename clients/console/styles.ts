/** The console's style sheet, over the colours of the report: one scale of type, one of space, light by day and dark by night. */
import { mono, sans, themes } from '../../core/pages/colours.ts';
import { families } from '../report/html/browser/addresses.ts';
import { swatches } from '../report/html/styles.ts';

const tints = families
  .map(
    (family) => `.body.${family}{stroke:var(--${family});stroke-width:2;stroke-dasharray:5 4}
.tag.${family} rect{fill:var(--${family})}.frame.${family}{fill:var(--${family})}`,
  )
  .join('');

const lines = ['accent', 'bad', 'good', 'byzantine', 'process', 'link', 'clock', 'queue', 'receipt', 'store']
  .map((colour, index) => `.s${index}{--own:var(--${colour})}`)
  .join('');

export const styles = `${themes}${swatches}
:root{--s1:4px;--s2:8px;--s3:12px;--s4:16px;--s5:24px;--s6:32px;--good-text:color-mix(in srgb,var(--good) 76%,var(--ink));--process-text:color-mix(in srgb,var(--process) 74%,var(--ink));--bad-text:color-mix(in srgb,var(--bad) 86%,var(--ink));--soft:color-mix(in srgb,var(--accent) 11%,var(--raised));--shadow:0 1px 2px rgb(20 24 30/.05),0 6px 24px rgb(20 24 30/.06)}
@media (prefers-color-scheme:dark){:root{--shadow:0 1px 2px rgb(0 0 0/.3),0 8px 28px rgb(0 0 0/.25)}}
*{box-sizing:border-box}
body{margin:0;background:var(--panel);color:var(--ink);font:15px/1.5 ${sans};font-variant-numeric:tabular-nums;-webkit-font-smoothing:antialiased}
h1,h2,h3,p,ul,dl,dd,figure{margin:0;padding:0}
h2{font-size:16px;font-weight:640;letter-spacing:-.005em}
h3{font-size:14px;font-weight:640}
code,pre,.id,.number,.pairs dd{font-family:${mono}}
button,input,select,textarea{font:inherit;font-size:14px;color:inherit;background:var(--raised);border:1px solid var(--rule);border-radius:8px;padding:6px 12px;min-height:34px}
button{cursor:pointer;transition:background .12s,border-color .12s}
button:hover{border-color:var(--muted)}
button[aria-pressed=true]{background:var(--ink);border-color:var(--ink);color:var(--ground)}
button[aria-disabled=true]{opacity:.6;cursor:progress}
button.primary{background:var(--accent);border-color:var(--accent);color:var(--ground);font-weight:600}
button.primary:hover{filter:brightness(1.08)}
button.harmful{color:var(--bad-text)}
button.harmful:hover{border-color:var(--bad)}
button.link{border:0;background:none;padding:0;min-height:0;color:var(--accent);text-align:left;overflow-wrap:anywhere;border-radius:3px}
button.link:hover{text-decoration:underline;text-underline-offset:3px}
button.link.failed{color:var(--bad-text)}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.quiet{color:var(--muted)}
.space{flex:1}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.skip{position:absolute;left:-999px}
.skip:focus{left:var(--s4);top:var(--s2);z-index:9;background:var(--raised);padding:var(--s2) var(--s3);border-radius:8px}
.id,.under,.faults,.why,dd{unicode-bidi:isolate}
.shell{min-height:100vh;display:flex;flex-direction:column}
.top{position:sticky;top:0;z-index:5;display:flex;align-items:center;gap:var(--s3) var(--s5);padding:var(--s2) var(--s5);background:var(--panel);border-bottom:1px solid var(--rule)}
.brand{display:flex;align-items:center;gap:10px;font-size:16px;letter-spacing:-.01em}
.brand svg{width:30px;height:30px}
.brand path{fill:none;stroke:var(--accent);stroke-width:1.6;opacity:.55}
.brand circle{fill:var(--rule)}.brand .signs{fill:var(--accent)}
nav{display:flex;gap:2px;min-width:0;overflow-x:auto}
nav button{white-space:nowrap;border:0;background:none;font-weight:560;color:var(--muted);border-radius:8px;padding:6px 12px}
nav button:hover{color:var(--ink);background:color-mix(in srgb,var(--ink) 6%,transparent)}
nav button[aria-current]{color:var(--ink);background:var(--raised);box-shadow:var(--shadow)}
.badge{margin-left:7px;font-size:12px;font-weight:640;padding:1px 7px;border-radius:9px;background:var(--soft);color:var(--accent)}
.badge.faults{background:color-mix(in srgb,var(--process) 16%,var(--raised));color:var(--process-text)}
.badge.cluster{background:color-mix(in srgb,var(--bad) 14%,var(--raised));color:var(--bad-text)}
.status{margin-left:auto;display:flex;align-items:center;gap:var(--s3);font-size:13px;color:var(--muted)}
.status a{color:var(--accent);text-underline-offset:3px}
.connection{display:inline-flex;gap:7px;align-items:center}
.dot{width:8px;height:8px;border-radius:50%;background:var(--muted);flex:none}
.connection.live .dot,.dot.good{background:var(--good);box-shadow:0 0 0 3px color-mix(in srgb,var(--good) 22%,transparent)}
.connection.broken .dot,.connection.connecting .dot,.dot.running{background:var(--process);animation:breathe 1.2s steps(4) infinite}
.connection.refused .dot,.dot.bad{background:var(--bad)}
@keyframes breathe{50%{opacity:.35}}
main{flex:1;width:100%;max-width:1480px;margin:0 auto;padding:var(--s5);outline:0}
.panel{display:grid;gap:var(--s4);grid-template-columns:minmax(0,1fr)}
.card{background:var(--raised);border:1px solid var(--rule);border-radius:14px;padding:var(--s4) 20px;min-width:0}
.card>h2,.card>header{margin-bottom:var(--s3)}
.notice{padding:var(--s2) var(--s4);border-radius:10px;margin-bottom:var(--s3);font-size:14px;background:color-mix(in srgb,var(--muted) 10%,var(--raised))}
.notice.bad{background:color-mix(in srgb,var(--bad) 12%,var(--raised))}
.notice.warn{background:color-mix(in srgb,var(--clock) 14%,var(--raised))}
.quiet.waiting{padding:20vh 0;text-align:center}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(138px,1fr));gap:var(--s3)}
.figure{background:var(--raised);border:1px solid var(--rule);border-radius:12px;padding:10px 14px}
.figure dt{font-size:12.5px;color:var(--muted)}
.figure dd{display:flex;flex-direction:column}
.figure strong{font-size:19px;font-weight:640;letter-spacing:-.01em;line-height:1.35}
.figure dd span{font-size:12.5px;color:var(--muted)}
.figure.bad strong{color:var(--bad-text)}.figure.armed strong{color:var(--process-text)}
.spark{height:19px;width:100%;display:block;overflow:visible}
.spark polyline{fill:none;stroke:var(--accent);stroke-width:1.6;vector-effect:non-scaling-stroke;stroke-linejoin:round}
.stage{display:grid;gap:var(--s4);grid-template-columns:minmax(0,1fr)}
.stage.chosen{grid-template-columns:minmax(0,1fr) 372px}
.picture{background:radial-gradient(ellipse at 52% 40%,color-mix(in srgb,var(--accent) 7%,var(--raised)),var(--ground) 72%);border:1px solid var(--rule);border-radius:16px;padding:var(--s3);min-width:0;display:grid;align-items:center}
.picture svg{width:100%;height:auto;max-height:74vh;display:block;font-family:${sans}}
.picture svg.tall{max-height:none}
.link.frames,.link.store{fill:none;stroke:var(--line);stroke-width:1.6;opacity:.5}
.link.store{stroke-dasharray:2 5;opacity:.32}
.link.down{stroke:var(--bad);stroke-dasharray:4 6;opacity:.55}
.link.faulty{stroke:var(--link);stroke-width:2.4;stroke-dasharray:7 5;opacity:.9;animation:march 1s steps(6) infinite}
@keyframes march{to{stroke-dashoffset:-12}}
.frame{fill:var(--accent);stroke:var(--accent);stroke-width:6;stroke-opacity:.2}
.frame.idle{display:none}
.process{cursor:pointer;outline:0}
.body{fill:var(--raised);stroke:var(--rule);stroke-width:1.4;transition:stroke .2s}
.process:hover .body{stroke:var(--muted)}
.process.is-chosen .body,.process:focus-visible .body{stroke:var(--accent);stroke-width:2.4;stroke-dasharray:none}
.disc{fill:color-mix(in srgb,var(--accent) 10%,var(--raised))}
.icon{fill:none;stroke:var(--accent);stroke-width:1.6;stroke-linecap:round;stroke-linejoin:round}
.process.down .disc{fill:color-mix(in srgb,var(--bad) 12%,var(--raised))}.process.down .icon{stroke:var(--bad)}
.process .state{fill:var(--good);stroke:var(--raised);stroke-width:2}
.process.paused .state,.process.starting .state{fill:var(--process);animation:breathe 1.2s steps(4) infinite}
.process.down .state{fill:var(--bad)}
.process.down .body{fill:color-mix(in srgb,var(--bad) 7%,var(--ground));stroke:var(--bad);stroke-dasharray:5 4}
.process.down .name{fill:var(--bad)}
.process.paused .body{fill:color-mix(in srgb,var(--process) 8%,var(--raised))}
.name{font-size:16px;font-weight:620;fill:var(--ink)}
.middle{text-anchor:middle;font-size:14px}
.facts{font-size:12.5px;fill:var(--muted)}
.cluster-title{font-size:13px;font-weight:600;fill:var(--muted);text-anchor:middle}
.tag text{font-size:11.5px;font-weight:620;fill:var(--ground);text-anchor:middle}
${tints}
.inspector{display:flex;flex-direction:column;gap:var(--s3);align-self:start;box-shadow:var(--shadow)}
.inspector header{display:flex;align-items:center;gap:10px;margin:0}
.inspector h2{font-size:19px}
.close{margin-left:auto;border:0;background:none;font-size:20px;line-height:1;padding:2px 8px;min-height:30px;color:var(--muted)}
.actions{display:flex;flex-wrap:wrap;gap:var(--s2)}
.on-it{font-size:14px;display:flex;gap:var(--s2);flex-wrap:wrap}
.pairs{display:grid;grid-template-columns:minmax(72px,auto) minmax(0,1fr);gap:3px var(--s4)}
.pairs dt{color:var(--muted);font-size:13.5px}
.pairs dd{font-size:13px;line-height:1.6;overflow-wrap:anywhere}
@media (min-width:1000px){.pairs.wide{grid-template-columns:auto minmax(0,1fr) auto minmax(0,1fr)}}
.chip{display:inline-block;font-size:12.5px;font-weight:600;line-height:1.6;padding:0 9px;border-radius:20px;background:color-mix(in srgb,var(--muted) 14%,var(--raised));color:var(--ink);white-space:nowrap}
.chip.running,.chip.completed{background:color-mix(in srgb,var(--good) 15%,var(--raised));color:var(--good-text)}
.chip.down,.chip.failed{background:color-mix(in srgb,var(--bad) 14%,var(--raised));color:var(--bad-text)}
.chip.open{background:var(--soft);color:var(--accent)}
.chip.paused,.chip.starting,.chip.waiting,.chip.armed,.chip.holding{background:color-mix(in srgb,var(--process) 14%,var(--raised));color:var(--process-text)}
.table{overflow-x:auto;margin:0 -20px -8px;padding:0 20px 8px}
table{border-collapse:collapse;width:100%;font-size:14px}
th,td{text-align:left;padding:8px 16px 8px 0;vertical-align:top;font-weight:400;white-space:nowrap}
td:nth-last-child(-n+2){white-space:normal}
thead th{font-size:12.5px;color:var(--muted);border-bottom:1px solid var(--rule);padding-top:0}
tbody tr+tr>*{border-top:1px solid color-mix(in srgb,var(--rule) 60%,transparent)}
tbody tr.is-chosen>*{background:var(--soft)}
tbody tr.is-chosen .under{color:var(--ink)}
tr.choosable{cursor:pointer}
tr.choosable:hover>*{background:color-mix(in srgb,var(--ink) 3%,transparent)}
tr.touched>*{background:color-mix(in srgb,var(--process) 8%,transparent)}
.number{font-size:13px}
.under{display:block;font-size:12.5px;color:var(--muted);overflow-wrap:anywhere}
.card.form{display:grid;gap:var(--s3);grid-template-columns:minmax(0,1fr)}
.card.form>header{margin:0}
.try-of{display:block}
.why-of{min-width:240px}
td button{white-space:nowrap}
.check{font-size:13px;color:var(--muted);white-space:nowrap}
td details[open]{min-width:360px}
.faults{color:var(--process-text);font-size:13px}
.bar{display:flex;flex-wrap:wrap;align-items:center;gap:var(--s2) var(--s3)}
.bar input[type=search]{width:min(340px,100%)}
.set{display:inline-flex}
.set button{border-radius:0;margin-left:-1px}
.set button:first-child{border-radius:8px 0 0 8px}.set button:last-child{border-radius:0 8px 8px 0}
.steps{display:grid;gap:var(--s3)}.steps>h2{margin:0}
.steps>*{justify-self:start;max-width:100%}.steps>.call,.steps>.table,.steps>.balance{display:block}
.to{max-width:220px;overflow:hidden;text-overflow:ellipsis}
.small{min-height:28px;padding:2px 10px;font-size:13px}
.go-to{display:block}.go-to input{min-height:28px;padding:2px 10px;font-size:13px;width:132px}
.timeline{list-style:none;margin:var(--s3) 0 0;padding:0 0 0 22px;display:grid;gap:var(--s4)}
.timeline>li{position:relative}
.timeline>li:before{content:"";position:absolute;left:-22px;top:5px;width:12px;height:12px;border-radius:50%;background:var(--raised);border:2px solid var(--rule)}
.timeline>li:after{content:"";position:absolute;left:-15px;top:22px;bottom:-20px;width:2px;background:var(--rule)}
.timeline>li:last-child:after{display:none}
.timeline>.done:before{background:var(--good);border-color:var(--good)}.timeline>.done:after{background:color-mix(in srgb,var(--good) 45%,var(--rule))}
.timeline>.bad:before{background:var(--bad);border-color:var(--bad)}
.timeline>.now:before{border-color:var(--process);animation:breathe 1.2s steps(4) infinite}
.timeline>.none strong,.timeline>.next strong{color:var(--muted);font-weight:500}
.timeline>li>div{display:flex;gap:var(--s3);align-items:baseline}
.timeline time{margin-left:auto;color:var(--muted)}
.timeline p,.timeline ul{font-size:14px;overflow-wrap:anywhere;color:var(--muted)}
.timeline ul{list-style:none;padding:0;margin-top:2px;font-size:13px}
.clock{display:flex;align-items:baseline;gap:var(--s3);flex-wrap:wrap;color:var(--muted)}
.clock strong{font-size:34px;line-height:1.1;font-weight:640;letter-spacing:-.02em;color:var(--ink)}
.clock #offset{color:var(--accent)}
.step-by-step{justify-self:stretch}
.step-by-step{display:grid;gap:var(--s4);grid-template-columns:minmax(0,1fr) minmax(280px,420px);align-items:start}
.step-by-step button{min-height:28px;padding:2px 10px}
.step-by-step th,.step-by-step td{vertical-align:middle;padding-top:5px;padding-bottom:5px}
.verified{color:var(--good-text);font-weight:640;padding:0 12px}
.status select{min-height:28px;padding:2px 8px;font-size:13px;max-width:220px}
.try{display:inline-flex;gap:var(--s2);flex-wrap:wrap}
.nodes{display:inline-flex;gap:3px;flex-wrap:wrap;width:max-content;max-width:250px}
.node-mark{min-width:22px;height:22px;padding:0 5px;border-radius:7px;font:600 12px/22px ${sans};text-align:center;background:color-mix(in srgb,var(--muted) 15%,var(--raised));color:var(--muted)}
.node-mark.signed,.node-mark.holds-a-share{background:color-mix(in srgb,var(--good) 17%,var(--raised));color:var(--good-text)}
.node-mark.blamed{background:var(--bad);color:var(--ground)}
.empty{display:grid;justify-items:center;text-align:center;gap:var(--s3);padding:9vh var(--s4);max-width:560px;margin:0 auto}
.empty svg{width:260px;margin-bottom:var(--s3)}
.empty line{stroke:var(--rule);stroke-width:1.5}.empty .hub{stroke:var(--accent)}
.empty .arrow{stroke:var(--accent);opacity:.6}
.empty circle{fill:var(--raised);stroke:var(--accent);stroke-width:2}
.empty h2{font-size:21px}
.empty p{color:var(--muted)}
.empty .try{justify-content:center}
.session-head{display:flex;flex-wrap:wrap;align-items:center;gap:6px var(--s3)}
.session-head h2{font-size:18px;overflow-wrap:anywhere}
.session-head .link{flex-basis:100%;font-size:14px}
.why{flex-basis:100%;margin-top:var(--s2);padding:12px 16px;border-left:4px solid var(--muted);background:var(--raised);border-radius:0 10px 10px 0;font-size:15.5px;overflow-wrap:anywhere}
.why.failed{border-color:var(--bad)}.why.completed{border-color:var(--good)}.why.waiting{border-color:var(--process)}
.flow{padding:var(--s3) 0 0;overflow:hidden}
.flow>header,.flow>.quiet{padding:0 20px}
.flow>.quiet{padding-bottom:var(--s3)}
.flow .table{margin:0}
.diagram{display:grid;grid-template-columns:minmax(0,1fr) 320px;border-top:1px solid var(--rule)}
.scroller{height:min(64vh,640px);overflow:auto;position:relative;background:var(--ground);outline-offset:-2px}
.canvas{position:sticky;top:0;left:0;display:block}
.event{border-left:1px solid var(--rule);padding:var(--s4) 20px;overflow:auto;max-height:min(64vh,640px)}
.event-head{display:flex;gap:9px;align-items:baseline;margin-bottom:var(--s2);flex-wrap:wrap;overflow-wrap:anywhere}
.event-head strong{font-size:16px}
.event-head .number{margin-left:auto;color:var(--muted)}
.kind{font-size:12px;color:var(--muted);border:1px solid var(--rule);border-radius:5px;padding:0 6px}
.event h3{margin:var(--s3) 0 var(--s1)}
.pair{display:grid;gap:var(--s4);grid-template-columns:repeat(2,minmax(0,1fr));align-items:start}
.body pre{background:var(--ground);border:1px solid var(--rule);border-radius:10px;max-height:46vh}
.columns{grid-template-columns:minmax(320px,440px) minmax(0,1fr);align-items:start}
.lists{display:grid;gap:var(--s4);min-width:0;align-content:start}
form{display:grid;gap:var(--s3)}
.field{display:grid;gap:3px}
.field>span:first-child{font-size:13.5px;font-weight:600;display:flex;gap:var(--s2);align-items:baseline}
.field textarea{font:12.5px/1.5 ${mono};resize:vertical;width:100%}
.field em{font-style:normal;font-weight:400;font-size:12px;color:var(--muted)}
.help{font-size:12.5px;color:var(--muted);overflow-wrap:anywhere;line-height:1.45}
.help.lead{font-size:14px;color:var(--ink);padding-top:3px}
form details>.field{margin-top:var(--s3)}
summary{cursor:pointer;font-size:14px}
.said{padding:var(--s2) var(--s3);border-radius:8px;font-size:14px;overflow-wrap:anywhere}
.said.good{background:color-mix(in srgb,var(--good) 13%,var(--raised));color:var(--good-text)}
.said.bad{background:color-mix(in srgb,var(--bad) 12%,var(--raised));color:var(--bad-text)}
.faults-list{list-style:none;display:grid;gap:var(--s3)}
.faults-list li+li{border-top:1px solid var(--rule);padding-top:var(--s3)}
.fault-head{display:flex;flex-wrap:wrap;gap:var(--s2);align-items:center}
p.touched{font-size:14px;margin-top:var(--s1);display:flex;gap:2px 10px;flex-wrap:wrap}
.call{border:1px solid var(--rule);border-radius:10px;overflow:hidden;background:var(--ground);min-width:0}
.call figcaption{display:flex;justify-content:space-between;gap:var(--s2);padding:6px;border-bottom:1px solid var(--rule)}
.call button{min-height:26px;padding:1px 9px;font-size:12.5px}
.quiet-button{border-color:transparent;background:none;color:var(--muted)}
pre{margin:0;padding:10px 14px;overflow:auto;font-size:12.5px;line-height:1.55;outline-offset:-2px}
.line{display:block;white-space:pre-wrap;overflow-wrap:anywhere}
.foot{position:sticky;bottom:0;z-index:4;padding:0 var(--s5) var(--s3);max-width:1480px;width:100%;margin:0 auto;pointer-events:none}
.last-call{pointer-events:auto;background:var(--raised);border:1px solid var(--rule);border-radius:12px;box-shadow:var(--shadow);padding:0 var(--s4);max-width:860px}
.last-call summary{display:flex;gap:10px;align-items:center;padding:9px 0;list-style:none;min-width:0}
.last-call summary::-webkit-details-marker{display:none}
.last-call strong{white-space:nowrap;overflow:hidden;text-overflow:ellipsis;max-width:50%}
.last-call .outcome{color:var(--muted);overflow:hidden;text-overflow:ellipsis;white-space:nowrap;min-width:0}
.last-call.bad .outcome{color:var(--bad-text)}
.last-call[open] .outcome{white-space:normal}
.last-call .hint{margin-left:auto;font-size:12.5px;color:var(--accent);white-space:nowrap}
.last-call .call{margin-bottom:var(--s3)}
.plots{display:grid;gap:var(--s4);grid-template-columns:repeat(auto-fit,minmax(min(420px,100%),1fr))}
.plot{width:100%;height:auto;display:block;margin:var(--s2) 0;overflow:visible}
.plot .axis{stroke:var(--rule)}
.series{fill:none;stroke:var(--own);stroke-width:1.8;stroke-linejoin:round}
.series.s4{stroke-dasharray:6 4}
.window{fill:color-mix(in srgb,var(--bad) 16%,transparent);background:color-mix(in srgb,var(--bad) 30%,transparent)}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:2px var(--s4);font-size:13px}
.key{display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:6px}
.key:not(.window){background:var(--own)}
${lines}
.token{max-width:520px;margin:8vh auto}
@media (max-width:1560px){.world{display:none}}
@media (max-width:1280px){nav button{padding:6px 8px}.top{column-gap:var(--s3)}.go-to input{width:124px}}
@media (max-width:1080px){.stage.chosen,.diagram,.step-by-step{grid-template-columns:minmax(0,1fr)}.event{border-left:0;border-top:1px solid var(--rule);max-height:none}}
@media (max-width:860px){main{padding:var(--s4)}.pair,.columns{grid-template-columns:minmax(0,1fr)}.top{flex-wrap:wrap;padding:var(--s2) var(--s4)}nav{order:3;width:100%}.foot{padding:0 var(--s2) var(--s2)}.picture{overflow-x:auto}.picture svg{min-width:560px}.figures{display:flex;overflow-x:auto;margin:0 -16px;padding:0 16px 4px}.figure{flex:0 0 132px}.bar input[type=search]{width:100%}.set{flex-wrap:wrap}}
@media (prefers-reduced-motion:reduce){*{animation:none!important;transition:none!important}}
`;
