/** The page's style sheet, over the colours of all pages: one column on narrow screens. */
import { mono, sans, themes } from '../../core/pages/colours.ts';

export const styles = `${themes}:root{--get:var(--link);--post:var(--good);--patch:var(--clock);--delete:var(--bad)}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.55 ${sans}}
a{color:var(--accent);text-underline-offset:2px}
code,pre,textarea,.type{font-family:${mono};font-size:.87em}
h1{font-size:26px;line-height:1.25;font-weight:650;letter-spacing:-.01em;margin:0 0 8px}
h2{font-size:16px;margin:32px 0 8px}
p,ul,dl,dd,pre{margin:0;padding:0}
ul{list-style:none}
.quiet,.type,.meaning{color:var(--muted)}
.skip{position:absolute;left:-999px}
.skip:focus{left:12px;top:8px;background:var(--raised);padding:6px 10px;z-index:2}
:focus-visible{outline:2px solid var(--accent);outline-offset:1px}
header{position:sticky;top:0;z-index:1;display:flex;flex-wrap:wrap;gap:8px 24px;align-items:center;padding:10px 24px;background:var(--panel);border-bottom:1px solid var(--rule)}
.name{font-weight:650;font-size:17px;color:inherit;text-decoration:none;margin-right:auto}
.name .quiet{font-weight:400;font-size:14px}
input,select,textarea,button{font:inherit;color:inherit;background:var(--raised);border:1px solid var(--rule);border-radius:6px;padding:6px 10px}
textarea{display:block;width:100%;font-family:${mono};font-size:13px;line-height:1.5;resize:vertical}
button{cursor:pointer}
button:hover{border-color:var(--muted)}
.send{background:var(--accent);border-color:var(--accent);color:var(--ground);font-weight:600;padding:7px 20px}
.token input{width:min(24ch,50vw)}
.columns{display:grid;grid-template-columns:270px minmax(0,1fr);max-width:1400px}
nav{position:sticky;top:54px;align-self:start;max-height:calc(100vh - 54px);overflow:auto;padding:16px 12px 40px 24px;border-right:1px solid var(--rule);font-size:14px}
nav input{width:100%;margin-bottom:8px}
nav summary,details summary{cursor:pointer;padding:4px 0}
nav summary{font-weight:600}
nav li a{display:block;padding:3px 8px;border-radius:5px;color:inherit;text-decoration:none}
nav li a:hover{background:var(--panel)}
nav li a[aria-current]{background:var(--raised);color:var(--accent);font-weight:600}
main{padding:28px 40px 80px;min-width:0}
article{max-width:860px}
.about{max-width:76ch;color:var(--muted);overflow-wrap:anywhere}
.about code,.about strong{color:var(--ink)}
.call{display:flex;flex-wrap:wrap;gap:2px 10px;align-items:baseline;margin-bottom:10px;overflow-wrap:anywhere}
.method{display:inline-block;min-width:54px;font:600 12px ${mono};color:var(--get)}
.method.post{color:var(--post)}.method.patch,.method.put{color:var(--patch)}.method.delete{color:var(--delete)}
#request{margin-top:20px;padding:18px 20px;background:var(--panel);border:1px solid var(--rule);border-radius:10px}
.parameter{margin-bottom:14px}
.parameter label{display:block;margin-bottom:3px}
.parameter input,.parameter select{width:min(100%,52ch)}
.meaning{font-size:13.5px;margin-top:2px;overflow-wrap:anywhere}
.copied{display:flex;gap:8px;align-items:start}
pre{flex:1;white-space:pre-wrap;overflow-wrap:anywhere;background:var(--panel);border:1px solid var(--rule);border-radius:8px;padding:10px 14px;max-height:60vh;overflow:auto}
#status{font-weight:600;margin-bottom:6px}
.good{color:var(--good)}.bad{color:var(--bad)}
.fields{border-left:2px solid var(--rule);padding-left:14px;margin:4px 0 8px}
.fields dt{margin-top:8px;overflow-wrap:anywhere}
.fields dd{font-size:14px;color:var(--muted);overflow-wrap:anywhere}
.must{font-size:12px;color:var(--bad)}
.answer{border-bottom:1px solid var(--rule);padding:4px 0}
.answer.s2 summary strong{color:var(--good)}
.operations a{display:grid;grid-template-columns:66px minmax(0,1.1fr) minmax(0,1fr);gap:8px;align-items:baseline;padding:5px 8px;border-radius:6px;color:inherit;text-decoration:none;overflow-wrap:anywhere}
.operations a:hover{background:var(--panel)}
@media (max-width:800px){.columns{grid-template-columns:minmax(0,1fr)}nav{position:static;max-height:none;border:0;padding:12px 16px 0}main{padding:16px}.operations a{grid-template-columns:66px minmax(0,1fr)}.operations a span:last-child{grid-column:2}header{position:static;padding:10px 16px}}
`;
