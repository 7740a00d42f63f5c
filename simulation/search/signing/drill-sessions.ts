import { keystore, makeKey, Plan, type Scene, stepsMs } from './drill-plan.ts';

const states = [
  ...(['ACCEPTED', 'PENDING_HUMAN_APPROVAL', 'RESUMED', 'DENIED', 'EXPIRED', 'REVOKED'] as const),
  ...(['BACKEND_COMPLETED', 'BACKEND_FAILED'] as const),
];

/** A client reads sessions, by pages and one by one, while another one begins and changes them. */
export function reads(scene: Scene): Plan[] {
  const { draw, nodes } = scene;
  const [reader, writer] = [new Plan('reader'), new Plan('writer')];
  const key = 'read-key';
  makeKey(writer, scene, key);
  const sessions: string[] = [];
  for (let count = 0; count < 6; count += 1) {
    const session = writer.session();
    sessions.push(session);
    const waits = draw.chance(0.3) && ({ approval: 'HUMAN_REQUIRED' } as const);
    const forced = draw.chance(0.3) && {
      directive: draw.pick(['FORCE_DENIED', 'FORCE_BACKEND_FAILED', 'FORCE_EXPIRED'] as const),
    };
    writer.add({ call: 'initiate_signing', session, key, ...waits, ...forced });
    if (draw.chance(0.6)) writer.add({ call: 'submit_signature_share', session, node: draw.pick([0, ...nodes]) });
  }
  for (let left = 10; left > 0; left -= 1) {
    if (draw.chance(0.3)) reader.add({ call: 'read_sessions', session: draw.pick([...sessions, key]) });
    else {
      reader.add({
        call: 'read_sessions',
        ...(draw.chance(0.5) && { kind: draw.pick(['dkg', 'signing'] as const) }),
        ...(draw.chance(0.4) && { states: draw.some(states, draw.int(1, 4)) }),
        ...(draw.chance(0.8) && { limit: draw.pick([1, 1, 2, 3, 5, 100, 0, 101]), pages: draw.int(1, 6) }),
      });
    }
    if (draw.chance(0.5)) reader.wait(draw.int(1, 12));
  }
  return [reader, writer];
}

/** Sessions of one intent that replace each other while both are called. */
export function takeovers(scene: Scene): Plan[] {
  const { draw, nodes } = scene;
  const [plan, other] = [new Plan('takeover'), new Plan('takeover-b')];
  const key = 'taken-key';
  makeKey(plan, scene, key);
  other.wait(draw.int(10, 30));
  for (let round = 1; round <= 4; round += 1) {
    const about = { key, intent: `taken-${round}`, message: 'the same' };
    const [first, second] = [plan.session(), other.session()];
    const failed = { directive: 'FORCE_BACKEND_FAILED' } as const;
    plan.add({ call: 'initiate_signing', session: first, ...about, ...(draw.chance(0.7) ? failed : {}) });
    if (draw.chance(0.4)) plan.wait(draw.int(1, 6));
    const begins = { session: second, ...about, ...(draw.chance(0.3) && failed) };
    (draw.chance(0.5) ? plan : other).add({ call: draw.pick(['initiate_signing', 'sign']), ...begins });
    plan.add({ call: 'resume_session', session: first, token: 'latest' });
    if (draw.chance(0.3)) plan.add({ call: 'preview_partial', session: first, node: draw.pick(nodes) });
    if (draw.chance(0.3)) plan.add({ call: 'inspect_session', session: first });
    plan.add({ call: 'submit_signature_share', session: first, ...(draw.chance(0.4) && { node: draw.pick(nodes) }) });
    other.add({ call: 'submit_signature_share', session: draw.pick([first, second]) });
    if (draw.chance(0.5)) other.add({ call: 'resume_session', session: second, token: 'latest' });
  }
  return [plan, other];
}

/** Keys without a scheme that several sessions bind at once, to two schemes; sessions that wait meanwhile are resumed. */
export function schemes(scene: Scene): Plan[] {
  const { draw } = scene;
  const [plan, other] = [new Plan('scheme'), new Plan('scheme-b')];
  const mock = { keystore: 'MOCK_THRESHOLD' } as const;
  const frost = { keystore: 'MPC_FROST' } as const;
  for (let round = 1; round <= 3; round += 1) {
    const key = `unbound-${round}`;
    const terms = { threshold: 2, total_nodes: scene.swarm.nodes, curve: 'secp256k1' } as const;
    makeKey(plan, scene, key, terms);
    other.add({ wait: { ended: plan.steps.at(-1)!.step, within_ms: stepsMs } });
    const paused = plan.session();
    const about = draw.pick([{ approval: 'HUMAN_REQUIRED' }, { directive: 'FORCE_BACKEND_FAILED' }] as const);
    plan.add({ call: 'initiate_signing', session: paused, key, ...about, ...draw.pick([mock, frost, {}]) });
    if (draw.chance(0.5)) plan.wait(draw.int(1, 4));
    plan.add({
      call: draw.pick(['initiate_signing', 'sign']),
      session: plan.session(),
      key,
      ...draw.pick([mock, frost]),
    });
    if (draw.chance(0.5)) other.wait(draw.int(1, 8));
    other.add({
      call: draw.pick(['initiate_signing', 'sign']),
      session: other.session(),
      key,
      ...draw.pick([frost, mock]),
    });
    plan.add({ call: 'resume_session', session: paused, token: 'latest', witness: true });
    plan.add({ call: 'submit_signature_share', session: paused });
  }
  return [plan, other];
}

/** Previews of nodes that answer, are gone, are silent, are excluded or take no part, beside calls of the same session. */
export function previews(scene: Scene): Plan[] {
  const { draw, nodes, swarm } = scene;
  const plans = ['preview', 'preview-b', 'preview-c'].map((name) => new Plan(name));
  const [plan] = plans as [Plan];
  const key = 'previewed-key';
  const session = 'previewed';
  const ofVendor = { threshold: 1, total_nodes: 1, keystore_type: 'MPC_VENDOR' } as const;
  makeKey(plan, scene, key, swarm.liars.length === 0 && draw.chance(0.15) ? ofVendor : {});
  const away = draw.pick(nodes);
  if (draw.chance(0.4)) plan.fault({ fault: 'crash', target: `node/${away}`, restart_after_ms: draw.pick([30, 400]) });
  plan.add({ call: 'initiate_signing', session, key, ...keystore(draw) });
  const begun = plan.steps.at(-1)!.step;
  if (draw.chance(0.6)) {
    const silent = draw.chance(0.5)
      ? ({ fault: 'pause', target: `node/${away}`, for_ms: draw.pick([100, 700]) } as const)
      : ({ fault: 'drop', target: `node/${away}`, for_ms: draw.pick([100, 700]) } as const);
    plan.fault(silent);
  }
  for (const one of plans.slice(1)) one.add({ wait: { ended: begun, within_ms: stepsMs } });
  for (const one of plans) {
    for (let left = draw.int(3, 6); left > 0; left -= 1) {
      if (draw.chance(0.15)) one.add({ call: 'submit_signature_share', session, node: draw.pick(nodes) });
      else one.add({ call: 'preview_partial', session, node: draw.pick([...nodes, ...nodes, 0, 99]) });
      if (draw.chance(0.3)) one.wait(draw.int(1, 5));
    }
  }
  plan.add({ call: 'submit_signature_share', session });
  plan.add({ call: 'preview_partial', session, node: draw.pick(nodes) });
  return plans;
}
