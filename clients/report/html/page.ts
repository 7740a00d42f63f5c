/**
 * One run as one self-contained HTML page: a message sequence diagram as Lamport's, with faults on top, a lane for each session,
 * and the state of any actor at any moment. It supports 100,000 events: it only draws the visible part.
 *
 * The page loads nothing (document.ts).
 */
import type { Verdict } from '../../../scenarios/runner/world.ts';
import { verdictInWords } from '../verdict.ts';
import { encodeRun, type RecordedRun } from './browser/encode.ts';
import { html, htmlDocument } from './document.ts';
import { styles } from './styles.ts';

/** The whole document. The same run gives the same bytes. */
export function htmlPage(run: RecordedRun): string {
  return htmlDocument({
    title: run.verdict === undefined ? run.scenario : `${run.scenario}: ${run.verdict.kind}`,
    styles,
    script: 'clients/report/html/browser/main.ts',
    body: `${headerOf(run)}\n${tools}\n${workbench}`,
    data: encodeRun(run),
  });
}

function headerOf(run: RecordedRun): string {
  const facts = [
    ...(run.verdict === undefined ? ['a recording'] : [`${run.world} run`, `seed ${run.seed}`]),
    `${run.nodes === 1 ? '1 node' : `${run.nodes} nodes`}${run.clusters === undefined ? '' : ` in each of ${run.clusters} clusters`}`,
    `${run.tookMs.toFixed(1)} ms of scenario time`,
    `${run.events.length} events`,
  ];
  return `<header>
<div>
<p class="facts">${facts.map((fact) => `<span>${html(fact)}</span>`).join('')}</p>
<h1>${html(run.scenario)}</h1>
<p class="about">${html(run.about.replace(/\s+/g, ' ').trim())}</p>
${run.verdict === undefined ? '' : verdictOf(run.verdict)}
<div class="replay"><code id="replay">${html(run.replay)}</code><button type="button" id="copy">Copy</button></div>
</div>
<div id="marks"></div>
</header>`;
}

function verdictOf(verdict: Verdict): string {
  const { kind, sentence, cause, also } = verdictInWords(verdict);
  return `<div class="verdict ${kind}" id="verdict" role="status"><strong>${html(sentence)}</strong>${
    cause === '' ? '' : `<p id="cause">${html(cause)}</p>`
  }${also.map((what) => `<p class="also">${html(what)}</p>`).join('')}</div>`;
}

const tools = `<div class="tools" role="toolbar" aria-label="What is shown">
<input type="search" id="words" placeholder="Search" aria-label="Search for words in any field">
<input type="search" id="actor" list="actors" placeholder="Actor" aria-label="Actor or process">
<datalist id="actors"></datalist>
<input type="search" id="session" list="sessions" placeholder="Session" aria-label="Session">
<datalist id="sessions"></datalist>
<select id="fault" aria-label="Fault"><option value="">Any fault or none</option></select>
<span id="kinds" role="group" aria-label="Kinds of events"></span>
<button type="button" id="everything">Show all</button>
<span class="set" role="group" aria-label="Way down"><button type="button" id="ordinal" aria-pressed="true">By order</button><button type="button" id="proportional" aria-pressed="false">By time</button></span>
<span class="set" role="group" aria-label="Size"><button type="button" id="farther" aria-label="Farther">−</button><button type="button" id="closer" aria-label="Closer">+</button></span>
<button type="button" id="apart" aria-pressed="false">Coordinator’s actors</button>
<span class="set" role="group" aria-label="Faults"><button type="button" id="last-fault">Previous fault</button><button type="button" id="next-fault">Next fault</button></span>
<output id="count"></output>
</div>`;

const workbench = `<main>
<div id="scroller" tabindex="0" role="application" aria-label="Message sequence diagram. The arrow keys go from event to event." aria-describedby="keys">
<div id="space"><canvas id="diagram"></canvas></div>
</div>
<aside aria-label="The event and the states">
<section><h2>Event</h2><div id="details"></div></section>
<section><h2>Every actor <span id="moment-words"></span></h2>
<div class="moment"><input type="range" id="moment" min="0" max="0" step="1" aria-label="Moment">
<input type="search" id="states-words" placeholder="Narrow by address" aria-label="Narrow by address"></div>
<div id="states"></div></section>
<section><details class="keys"><summary>Keys in the diagram</summary><p id="keys"><kbd>↑</kbd> <kbd>↓</kbd> event by event, <kbd>f</kbd> <kbd>F</kbd> next and previous fault, <kbd>v</kbd> <kbd>V</kbd> violation, <kbd>Home</kbd> <kbd>End</kbd>, <kbd>+</kbd> <kbd>−</kbd> size, <kbd>t</kbd> order or time, <kbd>/</kbd> search, <kbd>Esc</kbd> choose none</p></details></section>
</aside>
<output id="said" class="unseen" aria-live="polite"></output>
</main>
<noscript><p>The diagram needs scripts; the verdict above does not.</p></noscript>`;
