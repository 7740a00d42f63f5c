/** Runs for the tests of reports: one event of each kind; hostile texts in every place; as many events as wanted. */
import type { RunEvent } from '../../../scenarios/faults/recording.ts';
import type { Run } from '../../../scenarios/runner/world.ts';

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
  '\u007f\u0080\u009b31m\u009f',
  '\ud800 alone \udc00 \ufffe',
  '__proto__',
  '',
];

/**
 * As many signing sessions as wanted, three at a time, each of about 27 events; with a crash, a slow link, a lossy link, a
 * lying node and copies, each for a while. Made by counting alone.
 */
export function manySessions(sessions: number): Run {
  const events: RunEvent[] = [];
  const tenant = 'tn_sample';
  const faults = [
    { id: 'crash-2', fault: 'crash', target: 'node/2', from: 0.1, until: 0.25 },
    { id: 'slow-3', fault: 'delay', target: 'node/3', from: 0.3, until: 0.5 },
    { id: 'lossy-4', fault: 'drop', target: 'node/4', from: 0.45, until: 0.6 },
    { id: 'liar-5', fault: 'bad_partial', target: 'node/5', from: 0.65, until: 0.8 },
    { id: 'twice-1', fault: 'duplicate', target: 'node/1', from: 0.82, until: 0.95 },
  ] as const;
  const length = sessions * 10 + 20;
  const holds = (target: string, atMs: number) =>
    faults.find((fault) => fault.target === target && atMs >= fault.from * length && atMs < fault.until * length);
  for (const { id, fault, target, from, until } of faults) {
    const common = { kind: 'fault', id, fault, targets: [target], text: `${fault} of ${target}` } as const;
    events.push({ ...common, atMs: from * length, what: 'armed' }, { ...common, atMs: until * length, what: 'ended' });
    if (fault !== 'crash') continue;
    events.push(
      { ...common, atMs: from * length, what: 'fired' },
      { kind: 'process', atMs: from * length, process: target, what: 'down', text: 'killed' },
      { kind: 'process', atMs: until * length, process: target, what: 'up', text: 'started, boot 2' },
    );
  }
  for (let index = 0; index < sessions; index += 1) {
    const session = `sig_${index.toString(36).padStart(6, '0')}`;
    const address = `signing/${tenant}/${session}`;
    let atMs = index * 10;
    const frame = (from: string, to: string, point: Extract<RunEvent, { kind: 'frame' }>['point'], text: string) => {
      atMs += 0.4;
      const fault = holds(from, atMs) ?? holds(to, atMs);
      const by = { crash: [], delay: [9.5], drop: [], duplicate: [1.2, 3.1], bad_partial: [1.2] } as const;
      const arrivesMs = (fault ? by[fault.fault] : [1.2]).map((late) => atMs + late);
      const touched = fault ? [fault.id] : [];
      const sizes = { bytes: 180 + (index % 7), attempt: 1 };
      events.push({
        kind: 'frame',
        atMs,
        arrivesMs,
        from,
        to,
        point,
        tenant,
        session,
        ...sizes,
        text,
        faults: touched,
      });
    };
    const state = (name: string, fields: Extract<RunEvent, { kind: 'state' }>['fields']) =>
      events.push({ kind: 'state', atMs, address, state: name, fields });
    const step = { kind: 'step', client: 'client-1', step: `sign-${index}`, session } as const;
    events.push({ ...step, atMs, what: 'began', text: 'asks for a signature' });
    frame('gateway', 'coordinator', 'call', 'initiates the signing');
    atMs += 1.2;
    state('PENDING', { epoch: 0, attempt: 0, nodes: [] });
    frame('coordinator', 'gateway', 'call_reply', 'SESSION_ACCEPTED');
    atMs += 1.5;
    frame('gateway', 'coordinator', 'call', 'asks to sign');
    atMs += 1.5;
    const nodes = [0, 1, 2].map((offset) => 1 + ((index + offset) % 5));
    state('COLLECTING', { epoch: 0, attempt: 1, nodes });
    for (const node of nodes) frame(address, `node/${node}`, 'partial_request', `asks node ${node} for its partial`);
    atMs += 1;
    for (const node of nodes) {
      const fields = { attempt: 1, session };
      events.push({ kind: 'actor', atMs, address: `node/${node}`, type: 'signer.signed', level: 'info', fields });
      frame(`node/${node}`, address, 'partial_reply', `answers with its partial, node ${node}`);
    }
    atMs += 2;
    state('BACKEND_COMPLETED', { epoch: 0, attempt: 1, nodes });
    frame('coordinator', 'gateway', 'call_reply', 'SIGNATURE_COMPLETED');
    events.push({ ...step, atMs: atMs + 1.2, what: 'ended', text: 'has a signature' });
    const event = 'signing.session.completed';
    events.push({ kind: 'delivery', atMs: atMs + 2, event, session, status: 200, text: '' });
  }
  events.sort((a, b) => a.atMs - b.atMs);
  return runOf(events, {
    scenario: 'many-sessions',
    about: 'Signatures one after another while a node dies, a link is slow, another loses frames, and a node lies.',
    verdict: {
      kind: 'failed',
      what: 'session sig_00000c is BACKEND_COMPLETED within 2,000 ms',
      cause: 'it is BACKEND_FAILED with QUORUM_UNAVAILABLE: node 2 was down (crash-2), node 4 heard nothing (lossy-4)',
    },
    tookMs: length,
    replay: 'signmesh scenario run scenarios/many-sessions.yaml --seed 7',
  });
}
