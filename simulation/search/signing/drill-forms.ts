/** Drills of calls that must be refused by their form. */
import type { StepOf } from '../../../scenarios/runner/format.ts';
import { alterationOfCall } from './alterations.ts';
import { keystore, makeKey, Plan, type Scene, sharing } from './drill-plan.ts';

/** Calls with one field out of its range, about signing sessions in every state. */
export function signingForms(scene: Scene): Plan {
  const { draw, nodes } = scene;
  const plan = new Plan('forms');
  const key = 'forms-key';
  // A path with another account than the key's is refused.
  makeKey(plan, scene, key, draw.chance(0.5) ? { path: "m/44'/60'" } : {});
  const begin = (more: Partial<StepOf<'initiate_signing'>>): string => {
    const session = plan.session();
    plan.add({ call: 'initiate_signing', session, key, ...more });
    return session;
  };
  const sessions = [
    begin(keystore(draw)),
    begin({ approval: 'HUMAN_REQUIRED' }),
    begin({
      directive: 'FORCE_BACKEND_FAILED',
      ...(draw.chance(0.5) && { path: draw.pick(['m/1', "m/0/1'", "m/44'/60'/3"]) }),
    }),
    begin({}),
  ];
  plan.add({ call: 'submit_signature_share', session: sessions[3]! });
  const kinds = [
    ...(['initiate_signing', 'initiate_signing', 'initiate_signing', 'initiate_signing', 'resume_session'] as const),
    ...(['submit_signature_share', 'submit_signature_share', 'submit_signature_share'] as const),
    ...(['inspect_session', 'preview_partial', 'read_sessions'] as const),
  ];
  for (let left = 20; left > 0; left -= 1) {
    const call = draw.pick(kinds);
    const alter = alterationOfCall(call, draw)!;
    const session = draw.pick(sessions);
    const node = draw.pick(nodes);
    switch (call) {
      case 'initiate_signing': {
        const more = { ...keystore(draw), ...(draw.chance(0.2) && { path: draw.pick(['m/1', "m/44'/0'", "m/0/1'"]) }) };
        plan.add({ call, session: plan.session(), key, ...more, alter });
        break;
      }
      case 'submit_signature_share': {
        // A partial of the open session, which can be previewed.
        const given = draw.chance(0.6) && { session: sessions[0]!, client_supplied: 'right' as const };
        plan.add({ call, session, ...((given || draw.chance(0.5)) && { node }), ...given, alter });
        break;
      }
      case 'resume_session':
        plan.add({ call, session, token: draw.pick(['latest', 'latest', 'wrong']), witness: draw.chance(0.5), alter });
        break;
      case 'inspect_session':
        plan.add({ call, session: draw.pick([session, key]), alter });
        break;
      case 'preview_partial':
        plan.add({ call, session, node, alter });
        break;
      case 'read_sessions':
        plan.add({ call, ...(draw.chance(0.3) && { session }), alter });
    }
  }
  for (const session of sessions) {
    plan.add({ call: 'resume_session', session, token: 'latest', witness: true });
    plan.add({ call: 'submit_signature_share', session });
  }
  return plan;
}

/** Calls with one field out of its range, about key generations that begin, that continue and that are over. */
export function keyForms(scene: Scene): Plan {
  const { draw, nodes } = scene;
  const plan = new Plan('forms');
  const making = 'forms-making';
  const terms = sharing(scene);
  plan.add({ call: 'initiate_dkg', session: making, ...terms });
  const exchange = { call: 'exchange_dkg_shares', session: making } as const;
  for (let left = 20; left > 0; left -= 1) {
    if (draw.chance(0.4)) {
      const session = draw.chance(0.3) ? making : `forms-key-${left}`;
      const wrong = draw.pick([
        { alter: alterationOfCall('initiate_dkg', draw)! },
        { alter: alterationOfCall('initiate_dkg', draw)! },
        { path: draw.pick(["m/44'/0'", 'm/0', "m/44'/1", 'm/x']) },
        { keystore_type: 'MULTISIG_EVM_WALLET' as const },
      ]);
      plan.add({ call: 'initiate_dkg', session, ...terms, ...wrong });
    } else {
      const given = draw.chance(0.85) && { client_supplied: draw.pick(['right', 'wrong'] as const) };
      const alter = alterationOfCall('exchange_dkg_shares', draw)!;
      plan.add({ ...exchange, sender: draw.pick(nodes), recipient: draw.pick(nodes), ...given, alter });
    }
    if (left === 6) plan.add(exchange);
  }
  plan.add({ ...exchange, sender: draw.pick(nodes), recipient: draw.pick(nodes), client_supplied: 'wrong' });
  return plan;
}
