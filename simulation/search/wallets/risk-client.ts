/** A client of a random run that makes, changes and removes risk rules. docs/wallet-api.md. */

import type { Draw } from '../../cluster/draw.ts';
import { found } from '../../service/invariants/finding.ts';
import type { Operator } from './operator.ts';
import { drawRule } from './risk.ts';
import type { Tenancy } from './tenancy.ts';

const rulesMax = 4;

export async function changeRiskRules(tenancy: Tenancy, operator: Operator, draw: Draw): Promise<void> {
  const rules = await operator.list<{ readonly id: string }>('/v1/risk/rules', 'rules', draw.int(1, 3));
  if (rules.length === 0 || (rules.length < rulesMax && draw.chance(0.6))) {
    const name = tenancy.key('rule');
    const { body, terms } = drawRule(draw, tenancy.modules !== undefined);
    tenancy.riskRules.set(name, terms);
    await operator.made('/v1/risk/rules', { ...body, name }, tenancy.key('risk'));
    return;
  }
  const target = `/v1/risk/rules/${draw.pick(rules).id}`;
  const isRemoved = draw.chance(0.3);
  const change = { mode: draw.pick(['enforce', 'shadow', 'disabled']), points: draw.pick([10, 30, 60]) };
  const { status, body } = isRemoved
    ? await operator.call('DELETE', target)
    : await operator.call('PATCH', target, change);
  const isRight = status === 404 || status === (isRemoved ? 204 : 200);
  if (!isRight) found('changes-take-effect', `a change of ${target}: ${status} ${JSON.stringify(body)}`);
}
