/** The figures above the picture of the cluster, one card each. */
import type { ConsoleStore } from '../shared/store.ts';
import { h, type Node } from '../shared/ui.ts';
import { bytesInWords, counted, cpuInWords } from '../shared/words.ts';

export function figures({ figures: now, latency, rates, sessions, faults, nodes }: ConsoleStore): Node {
  const all = [...sessions.values()];
  const open = all.filter(({ state }) => state === 'open').length;
  const failed = all.filter(({ state }) => state === 'failed').length;
  const armed = faults.filter(({ state }) => state !== 'over').length;
  const down = nodes.filter(({ state }) => state !== 'running').length;
  const known = now?.processes.flatMap(({ cpu }) => (cpu === null ? [] : [cpu])) ?? [];
  const bytes = now?.processes.flatMap(({ resident_bytes: own }) => (own === null ? [] : [own])) ?? [];
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const perSecond = rates.at(-1) ?? 0;
  const ms = (value: number | undefined) => (value === undefined ? '–' : `${value.toFixed(1)} ms`);
  return h(
    'dl',
    { class: 'figures' },
    card(
      'Processes',
      `${nodes.length - down} of ${nodes.length}`,
      down === 0 ? 'all run' : `${down} not running`,
      down > 0 ? 'bad' : '',
    ),
    card('Frames a second', perSecond < 10 ? perSecond.toFixed(1) : String(Math.round(perSecond)), spark(rates), ''),
    card(
      'Sessions',
      open === 0 ? 'idle' : `${open} open`,
      `${counted(all.length, 'seen', 'seen')}, ${failed} failed`,
      '',
    ),
    card('Ceremony, median', ms(latency?.p50), `p99 ${ms(latency?.p99)}`, ''),
    card('CPU', known.length === 0 ? '–' : cpuInWords(sum(known)), 'of one core', ''),
    card('Memory', bytes.length === 0 ? '–' : bytesInWords(sum(bytes)), 'all processes', ''),
    card(
      'Faults',
      armed === 0 ? 'none' : `${armed} armed`,
      counted(faults.length - armed, 'ended', 'ended'),
      armed > 0 ? 'armed' : '',
    ),
  );
}

function card(name: string, value: string, more: Node, kind: string): Node {
  return h(
    'div',
    { class: `figure ${kind}` },
    h('dt', null, name),
    h('dd', null, h('strong', null, value), h('span', null, more)),
  );
}

/** The last minute as a line. */
function spark(rates: readonly number[]): Node {
  const most = Math.max(1, ...rates);
  const points = rates.map(
    (rate, index) => `${(index * 96) / Math.max(1, rates.length - 1)},${20 - (18 * rate) / most}`,
  );
  return h(
    'svg',
    { class: 'spark', viewBox: '0 0 96 22', 'aria-hidden': 'true' },
    rates.length < 2 ? null : h('polyline', { points: points.join(' ') }),
  );
}
