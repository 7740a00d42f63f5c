/** Runs for the tests of reports: one event of each kind; hostile texts in every place; as many events as wanted. */
import type { RunEvent } from '../../faults/recording.ts';
import type { Run } from '../../sim/scenario/world.ts';

/** One of each, with `text` in every place where a stranger's words may stand. */
export function oneOfEach(text: string): readonly RunEvent[] {
  return [
    { kind: 'step', atMs: 0, client: text, step: text, what: 'began', session: text, text },
    { kind: 'process', atMs: 0.5, process: text, what: 'up', text },
    { kind: 'fault', atMs: 1, id: text, fault: 'drop', targets: [text], what: 'armed', text },
    {
      kind: 'frame',
      atMs: 2,
      arrivesMs: [3.25, 4],
      from: text,
      to: 'node/2',
      point: 'partial_request',
      tenant: text,
      session: text,
      attempt: 1,
      bytes: 211,
      text,
      faults: [text],
    },
    { kind: 'actor', atMs: 4, address: text, type: text, level: 'warn', fields: { [text]: text, node: 2, of: [1, 2] } },
    { kind: 'state', atMs: 5, address: text, state: text, fields: { epoch: 3, [text]: [text] } },
    { kind: 'delivery', atMs: 6, event: text, session: text, status: 500, text },
    { kind: 'violation', atMs: 7, invariant: text, text },
  ];
}

export function runOf(events: readonly RunEvent[], others: Partial<Omit<Run, 'events'>> = {}): Run {
  return {
    scenario: 'a-crash',
    about: 'What it shows.',
    world: 'simulated',
    seed: '7',
    nodes: 5,
    verdict: { kind: 'passed' },
    tookMs: events.at(-1)?.atMs ?? 0,
    replay: 'signmesh scenario run a-crash.yaml --seed 7',
    events,
    ...others,
  };
}

/** A run that is hostile in every text. */
export function hostileRun(text: string): Run {
  return runOf(oneOfEach(text), {
    scenario: text,
    about: text,
    seed: text,
    replay: text,
    verdict: { kind: 'violated', invariant: text, cause: text },
  });
}

export const hostileTexts = [
  '</script><script>document.title="owned"</script>',
  '<!--<script>',
  ']]>&amp;<b>"\'`$&',
  '\u001b[31mred\u0007\u0000\r\nline',
  '\u2028\u2029\u0085\u202e\ufeff',
  '\ud800 alone \udc00 \ufffe',
  '__proto__',
  '',
];
