/** Drills of what fails: the store, nodes, byzantine nodes. */
import type { Fault } from '../../../scenarios/faults/vocabulary/fault.ts';
import { curves, keystore, makeKey, Plan, type Scene, sharing } from './drill-plan.ts';
import { type DrawnLie, lieOf } from './random-faults.ts';

/** Writes and reads of the coordinator that are lost, fail or find strange records, each before one call; another client calls too. */
export function store(scene: Scene): Plan[] {
  const { draw, nodes } = scene;
  const [plan, other] = [new Plan('store'), new Plan('store-b')];
  const key = 'store-key';
  const target = 'coordinator';
  makeKey(plan, scene, key);
  other.wait(20);
  const sessions: string[] = [];
  const call = (by: Plan) => {
    const session = sessions.length === 0 ? undefined : draw.pick(sessions);
    const kind = draw.pick([
      'begin',
      'begin',
      'sign',
      'step',
      'step',
      'whole',
      'whole',
      'resume',
      'make',
      'look',
    ] as const);
    if (session === undefined || kind === 'begin') {
      const begun = by.session();
      sessions.push(begun);
      const paused = draw.pick([{}, { approval: 'HUMAN_REQUIRED' }, { directive: 'FORCE_BACKEND_FAILED' }] as const);
      by.add({ call: 'initiate_signing', session: begun, key, ...paused });
    } else if (kind === 'sign') by.add({ call: 'sign', session: by.session(), key });
    else if (kind === 'step') by.add({ call: 'submit_signature_share', session, node: draw.pick(nodes) });
    else if (kind === 'whole') by.add({ call: 'submit_signature_share', session });
    else if (kind === 'resume')
      by.add({ call: 'resume_session', session, token: draw.pick(['latest', 'first']), witness: true });
    else if (kind === 'make') {
      const made = `${by.name}-key-${by.steps.length}`;
      by.add({ call: 'make_key', session: made, ...sharing(scene) });
      if (draw.chance(0.5)) by.add({ call: 'exchange_dkg_shares', session: made });
      if (draw.chance(0.5)) by.add({ call: 'resume_session', session: made, token: 'latest' });
    } else if (draw.chance(0.5)) by.add({ call: 'preview_partial', session, node: draw.pick(nodes) });
    else by.add({ call: 'inspect_session', session: draw.pick([session, key]) });
  };
  for (let round = 0; round < 5; round += 1) {
    call(plan);
    const forMs = { target, for_ms: draw.pick([2, 6, 15]) } as const;
    const count = { target, count: draw.pick([1, 1, 2]) } as const;
    plan.fault(
      draw.pick<Fault>([
        { fault: 'store_tampered', ...forMs },
        { fault: 'store_full', ...forMs },
        { fault: 'store_failing', ...forMs },
        { fault: 'store_failing', ...forMs },
        { fault: 'store_lost', ...count },
        { fault: 'store_unanswered', ...count },
      ]),
    );
    for (let calls = draw.int(1, 3); calls > 0; calls -= 1) call(plan);
    call(other);
    if (draw.chance(0.6)) other.wait(draw.pick([1, 5, 5_000]));
  }
  return [plan, other];
}

/** Nodes that are unreachable, silent or forgetful while a key is made and used: named by steps, needed for a quorum, replaced. */
export function absences(scene: Scene): Plan[] {
  const { draw, nodes, swarm } = scene;
  const [plan, other] = [new Plan('absence'), new Plan('absence-b')];
  const total = draw.int(2 + swarm.liars.length, swarm.nodes);
  const threshold = draw.int(2, total - swarm.liars.length);
  const key = 'absent-key';
  const terms = { threshold, total_nodes: total, curve: draw.pick(curves) } as const;
  const away = (by: Plan, count: number) => {
    for (const id of draw.some(nodes, count)) {
      const target = `node/${id}`;
      by.fault(
        draw.pick<Fault>([
          { fault: 'crash', target, restart_after_ms: draw.pick([0, 40, 900]) },
          { fault: 'pause', target, for_ms: draw.pick([40, 900]) },
          { fault: 'partition', target, for_ms: draw.pick([40, 900]) },
          { fault: 'drop', target, direction: 'out', count: 1 },
        ]),
      );
    }
  };
  if (draw.chance(0.6)) away(plan, draw.int(1, 2));
  plan.add({ call: 'initiate_dkg', session: key, ...terms });
  if (draw.chance(0.4)) plan.add({ call: 'exchange_dkg_shares', session: key, sender: draw.pick(nodes) });
  plan.add({ call: 'exchange_dkg_shares', session: key });
  plan.add({ call: 'resume_session', session: key, token: 'latest' });
  plan.add({ call: 'exchange_dkg_shares', session: key });
  other.wait(draw.int(5, 200));
  const scheme = keystore(draw);
  for (let round = 0; round < 3; round += 1) {
    const session = plan.session();
    plan.add({ call: 'initiate_signing', session, key, ...scheme });
    if (draw.chance(0.7)) away(draw.chance(0.7) ? plan : other, draw.int(1, Math.max(1, total - threshold + 1)));
    for (let steps = draw.int(0, 2); steps > 0; steps -= 1) {
      plan.add({ call: 'submit_signature_share', session, node: draw.int(1, total) });
    }
    if (draw.chance(0.4)) other.add({ call: 'submit_signature_share', session, node: draw.int(1, total) });
    if (draw.chance(0.4)) other.add({ call: 'submit_signature_share', session });
    plan.add({ call: 'submit_signature_share', session });
    plan.add({ call: 'resume_session', session, token: 'latest' });
    plan.add({ call: 'submit_signature_share', session });
  }
  return [plan, other];
}

/** Byzantine nodes lie in each way, one key or signature after the other. */
export function lies(scene: Scene): Plan {
  const { draw, swarm } = scene;
  const plan = new Plan('lies');
  const key = 'lied-key';
  const lie = (kinds: readonly DrawnLie[]) => {
    const liar = draw.pick(swarm.liars);
    // Two answers to one request contradict each other.
    const isTwice = draw.chance(0.3);
    if (isTwice) plan.fault({ fault: 'duplicate', target: `node/${liar}`, direction: 'in', copies: 1, count: 4 });
    plan.fault(lieOf(draw.pick(kinds), liar, swarm, draw));
  };
  for (let round = 1; round <= 4; round += 1) {
    const session = round === 1 ? key : `${key}-${round}`;
    const total = draw.int(2 + swarm.liars.length, swarm.nodes);
    lie([
      'bad_share',
      'bad_share',
      'bad_commitment',
      'bad_proof',
      'equivocate',
      'equivocate',
      'false_report',
      'false_refusal',
    ]);
    plan.add({ call: 'make_key', session, threshold: 2, total_nodes: total, curve: draw.pick(curves) });
    plan.add({ call: 'resume_session', session, token: 'latest' });
    plan.add({ call: 'exchange_dkg_shares', session });
  }
  for (let round = 0; round < 3; round += 1) {
    const session = plan.session();
    lie(['bad_partial', 'bad_partial', 'bad_nonces', 'false_refusal', 'withhold', 'stale_replay']);
    plan.add({ call: 'initiate_signing', session, key, ...keystore(draw) });
    if (draw.chance(0.5)) plan.add({ call: 'submit_signature_share', session, node: draw.pick(swarm.liars) });
    if (draw.chance(0.3)) plan.add({ call: 'preview_partial', session, node: draw.pick(swarm.liars) });
    plan.add({ call: 'submit_signature_share', session });
    plan.add({ call: 'submit_signature_share', session, node: draw.pick(swarm.liars) });
  }
  return plan;
}
