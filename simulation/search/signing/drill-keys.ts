/** Drills of the making and the end of keys, and of keys that one node holds. */
import type { Fault } from '../../../scenarios/faults/vocabulary/fault.ts';
import { hsmFailures, vendorFailures } from '../../../scenarios/faults/vocabulary/fault-parts.ts';
import type { ScenarioStep } from '../../../scenarios/runner/format.ts';
import { curves, makeKey, Plan, type Scene, stepsMs } from './drill-plan.ts';

/** Two clients supply dealers of one key, rightly and wrongly, while nodes deal too; and again when it is made. */
export function dealers(scene: Scene): Plan[] {
  const { draw, swarm } = scene;
  const total = Math.min(swarm.nodes, swarm.liars.length + draw.pick([2, 3, 3, 4]));
  const nodes = scene.nodes.slice(0, total);
  const session = 'dealt';
  const [one, other] = [new Plan('dealer-a'), new Plan('dealer-b')];
  // Of keys that nodes do not share no client supplies a dealer.
  const ofOwners = draw.chance(0.12) && ({ keystore_type: 'MULTISIG_EVM_WALLET', curve: 'secp256k1' } as const);
  one.add({ call: 'initiate_dkg', session, threshold: 2, total_nodes: total, curve: draw.pick(curves), ...ofOwners });
  other.wait(draw.int(2, 8));
  const supplied = draw.some(nodes, draw.pick([1, 1, 2, total]));
  const given = (plan: Plan, sender: number, recipient: number) => {
    const call = { call: 'exchange_dkg_shares', session, sender, recipient } as const;
    if (draw.chance(0.15)) plan.add({ ...call, client_supplied: 'wrong' });
    if (draw.chance(0.1)) {
      const field = draw.pick(['commitments', 'commitments.0', 'encrypted_share'] as const);
      const change = field === 'commitments' ? draw.pick(['reversed', 'shorter', 'twice'] as const) : 'other';
      plan.add({ ...call, client_supplied: 'right', alter: { field, change } });
    }
    plan.add({ ...call, client_supplied: 'right' });
  };
  // A dealer's own share is computed of the others, unless too few of them are in memory.
  const ownShares = draw.chance(0.4);
  for (const sender of supplied) {
    for (const recipient of nodes) {
      if (recipient === sender && !ownShares) continue;
      given(draw.chance(0.6) ? one : other, sender, recipient);
      if (draw.chance(0.15)) other.add({ call: 'exchange_dkg_shares', session, sender: draw.pick(nodes) });
      if (draw.chance(0.15)) {
        other.add({ call: 'exchange_dkg_shares', session, sender: draw.pick(nodes), recipient: draw.pick(nodes) });
      }
      // Later it is no longer in memory.
      if (draw.chance(0.05)) other.wait(60);
    }
  }
  other.add({ call: 'exchange_dkg_shares', session, recipient: draw.pick(nodes) });
  one.add({ call: 'exchange_dkg_shares', session });
  other.add({ call: 'exchange_dkg_shares', session });
  for (const plan of [one, other]) {
    for (let late = 0; late < 3; late += 1) given(plan, draw.pick(nodes), draw.pick(nodes));
    plan.add({ call: 'exchange_dkg_shares', session, sender: draw.pick(nodes) });
    plan.add({ call: 'resume_session', session, token: 'latest' });
    plan.add({ call: 'exchange_dkg_shares', session });
  }
  return [one, other];
}

/** A vendor's key: each way in which the vendor misbehaves, one signature after the other. */
export function vendor(scene: Scene): Plan[] {
  const { draw } = scene;
  const plan = new Plan('vendor');
  const key = 'vendor-key';
  const own = { threshold: 1, total_nodes: 1, keystore_type: 'MPC_VENDOR', curve: draw.pick(curves) } as const;
  const fails = (): Fault => {
    const by = draw.pick(vendorFailures);
    const late = by === 'delay' && { by_ms: draw.pick([30, 500, 3_000]) };
    return { fault: 'vendor_fails', by, ...late, for_ms: draw.pick([5, 40, 600]) };
  };
  if (draw.chance(0.3)) plan.fault(fails());
  plan.add({ call: 'make_key', session: key, ...own });
  plan.add({ call: 'resume_session', session: key, token: 'latest' });
  plan.add({ call: 'exchange_dkg_shares', session: key });
  for (let round = 0; round < 4; round += 1) {
    const session = plan.session();
    plan.fault(fails());
    if (draw.chance(0.2)) plan.fault({ fault: 'crash', target: 'coordinator', restart_after_ms: 20 });
    plan.add({ call: 'initiate_signing', session, key });
    plan.add({ call: 'submit_signature_share', session, ...(draw.chance(0.3) && { node: 1 }) });
    if (draw.chance(0.3)) plan.wait(draw.pick([5, 300, 1_000]));
    if (draw.chance(0.3)) plan.add({ call: 'preview_partial', session, node: 1 });
    plan.add({ call: 'resume_session', session, token: 'latest' });
    plan.add({ call: 'submit_signature_share', session });
    if (draw.chance(0.3)) {
      // Another session of the intent that the vendor has an order for.
      const again = { session: plan.session(), key, intent: plan.steps.find(isBegin(session))!.step };
      plan.add({ call: 'sign', ...again });
    }
  }
  return [plan];
}

function isBegin(session: string) {
  return (step: ScenarioStep) => 'call' in step && step.call === 'initiate_signing' && step.session === session;
}

/** A key in a PKCS#11 token that fails while it makes the key and while it signs. */
export function token(scene: Scene): Plan[] {
  const { draw, nodes } = scene;
  const [plan, other] = [new Plan('token'), new Plan('token-b')];
  const own = { threshold: 1, total_nodes: 1, keystore_type: 'HSM_PKCS11', curve: draw.pick(curves) } as const;
  const fails = (by: Plan, ms: readonly number[]) => {
    const how = draw.pick(hsmFailures);
    for (const id of nodes.slice(0, 2))
      by.fault({ fault: 'hsm_fails', target: `node/${id}`, by: how, for_ms: draw.pick(ms) });
  };
  if (draw.chance(0.5)) fails(plan, [5, 30]);
  const key = 'token-key';
  plan.add({ call: 'make_key', session: key, ...own });
  for (let again = 0; again < 2; again += 1) {
    plan.add({ call: 'resume_session', session: key, token: 'latest' });
    plan.add({ call: 'exchange_dkg_shares', session: key });
  }
  other.wait(draw.int(5, 60));
  for (let round = 0; round < 4; round += 1) {
    const session = plan.session();
    plan.add({ call: 'initiate_signing', session, key });
    fails(draw.chance(0.5) ? plan : other, [5, 30, 300]);
    plan.add({ call: 'submit_signature_share', session, ...(draw.chance(0.4) && { node: draw.pick(nodes) }) });
    if (draw.chance(0.4)) other.add({ call: 'submit_signature_share', session });
    plan.add({ call: 'resume_session', session, token: 'latest' });
    plan.add({ call: 'submit_signature_share', session });
  }
  return [plan, other];
}

/** A wallet's key that is closed, or whose clients' sessions are ended, by two gateways at once, while sessions of it end, begin and resume. */
export function closings(scene: Scene): Plan[] {
  const { draw, nodes } = scene;
  const [plan, other] = [new Plan('closing'), new Plan('closing-b')];
  const key = 'wal_closing';
  makeKey(plan, scene, key, { wallet_service: true });
  const made = plan.steps.at(-1)!.step;
  other.add({ wait: { ended: made, within_ms: stepsMs } });
  const sessions: string[] = [];
  for (let count = 0; count < 4; count += 1) {
    const session = plan.session();
    sessions.push(session);
    const paused = draw.pick([{}, { approval: 'HUMAN_REQUIRED' }, { directive: 'FORCE_BACKEND_FAILED' }] as const);
    plan.add({ call: 'initiate_signing', session, key, ...paused });
  }
  const byWallet = { session: plan.session(), key, wallet_service: true } as const;
  if (draw.chance(0.5)) plan.add({ call: 'initiate_signing', session: byWallet.session, key });
  else plan.add({ call: 'sign', ...byWallet, approval: 'HUMAN_REQUIRED' });
  sessions.push(byWallet.session);
  other.wait(draw.int(1, 25));
  if (draw.chance(0.3))
    other.fault({ fault: 'pause', target: `node/${draw.pick(nodes)}`, for_ms: draw.pick([50, 2_500]) });
  const close = (by: Plan, last: boolean) =>
    by.add({ call: 'close_key', session: key, ...(!last && draw.chance(0.6) && { clients_only: true }) });
  for (let round = 0; round < 5; round += 1) {
    const session = draw.pick(sessions);
    const call = draw.pick(['resume', 'whole', 'step', 'begin'] as const);
    if (draw.chance(0.35)) close(draw.chance(0.5) ? plan : other, false);
    if (call === 'resume') plan.add({ call: 'resume_session', session, token: 'latest', witness: true });
    else if (call === 'whole') plan.add({ call: 'submit_signature_share', session });
    else if (call === 'step') plan.add({ call: 'submit_signature_share', session, node: draw.pick(nodes) });
    else plan.add({ call: 'sign', session: plan.session(), key, ...(draw.chance(0.5) && { wallet_service: true }) });
    if (draw.chance(0.5)) other.wait(draw.int(1, 9));
  }
  close(plan, true);
  close(other, true);
  for (const session of sessions.slice(0, 2)) plan.add({ call: 'submit_signature_share', session });
  return [plan, other];
}
