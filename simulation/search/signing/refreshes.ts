/**
 * A key whose nodes get new shares several times while another client signs with it: refreshes fail, are continued and are asked
 * for by two clients at once, and sessions have begun with shares that are replaced meanwhile.
 *
 * Where nothing but the faults of a bad day happens, every version is made at the end, and the key signs.
 */
import type { ScenarioStep } from '../../../scenarios/runner/format.ts';
import type { Draw } from '../../cluster/draw.ts';
import type { Swarm } from '../profiles.ts';
import { curves, Plan, stepsMs } from './drill-plan.ts';

/** By client: none in most runs. */
export function refreshes(
  swarm: Swarm,
  healedMs: number,
  draw: Draw,
): Readonly<Record<string, readonly ScenarioStep[]>> {
  if (!draw.chance(0.25)) return {};
  const liars = swarm.liars.length;
  const total = draw.int(2 + liars, swarm.nodes);
  const nodes = Array.from({ length: total }, (_, index) => index + 1);
  const key = 'renewed';
  const keystore = draw.chance(0.6) ? ({ keystore: 'MPC_FROST' } as const) : {};
  const [renewing, signing] = [new Plan('renewing'), new Plan('renewing-b')];
  const sharing = { threshold: draw.int(2, total - liars), total_nodes: total, curve: draw.pick(curves) } as const;
  renewing.add({ call: 'make_key', session: key, ...sharing, insist: !swarm.losesState && liars === 0 });
  // The first signature binds the key to its scheme.
  renewing.add({ call: 'sign', session: renewing.session(), key, ...keystore, insist: !swarm.losesState });
  signing.add({ wait: { ended: renewing.steps.at(-1)!.step, within_ms: stepsMs } });
  let version = 2;
  const refresh = (plan: Plan) => {
    const asked = draw.chance(0.08) ? draw.pick([version + 1, 2]) : version;
    plan.add({ call: 'refresh_key', session: key, version: asked });
  };
  for (let round = draw.int(2, 5); round > 0; round -= 1) {
    // Other nodes have signed their results of an attempt that fails for a lie, and deal in the next one.
    if (swarm.profile === 'hostile' && liars > 0 && draw.chance(0.3))
      renewing.fault({ fault: 'bad_share', target: `node/${draw.pick(swarm.liars)}`, count: 1 });
    refresh(renewing);
    if (draw.chance(0.4)) refresh(renewing);
    if (draw.chance(0.3)) renewing.add({ call: 'sign', session: renewing.session(), key, ...keystore });
    if (draw.chance(0.3)) renewing.wait(draw.pick([1, 10, 100]));
    const session = signing.session();
    signing.add({ call: 'initiate_signing', session, key, ...keystore });
    if (draw.chance(0.6)) signing.wait(draw.int(1, 12));
    if (draw.chance(0.5)) signing.add({ call: 'submit_signature_share', session, node: draw.pick(nodes) });
    if (draw.chance(0.2)) refresh(signing);
    signing.add({ call: 'submit_signature_share', session });
    if (draw.chance(0.6)) version += 1;
  }
  if (swarm.profile === 'calm' || swarm.profile === 'stormy') {
    const isStrict = !swarm.shortLived;
    renewing.wait(healedMs);
    for (let made = 2; made <= version; made += 1) {
      const expect = isStrict && { expect: { reason_code: 'DKG_COMPLETED' } };
      renewing.add({ call: 'refresh_key', session: key, version: made, insist: isStrict, ...expect });
    }
    const expect = isStrict && { expect: { reason_code: 'SIGNATURE_COMPLETED' } };
    renewing.add({ call: 'sign', session: renewing.session(), key, ...keystore, insist: isStrict, ...expect });
  }
  return { [renewing.name]: renewing.steps, [signing.name]: signing.steps };
}
