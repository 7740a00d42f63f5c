/**
 * A client of a random run with other rights: a token that was rotated is the same caller, and a token with a part of the scopes
 * gets 403 for everything else. docs/wallet-api.md.
 */

import type { Draw } from '../../cluster/draw.ts';
import { found } from '../../service/invariants/finding.ts';
import { issuesOf } from './answer-invariants.ts';
import type { Operator } from './operator.ts';
import type { FamilyStep } from './steps.ts';
import type { Tenancy } from './tenancy.ts';

const callsEach = 4;

/** Calls that a token may make with this scope alone. */
const guarded: readonly (readonly [scope: string, method: string, path: string])[] = [
  ['providers:read', 'GET', '/v1/provider-connections'],
  ['wallets:read', 'GET', '/v1/wallets'],
  ['wallets:write', 'POST', '/v1/wallets/:wallet/freeze'],
  ['wallets:write', 'POST', '/v1/wallets/:wallet/unfreeze'],
  ['intents:read', 'GET', '/v1/transaction-intents'],
  ['intents:read', 'GET', '/v1/wallets/:wallet/transaction-intents'],
  ['intents:write', 'POST', '/v1/wallets/:wallet/transaction-intents/:intent/cancel'],
  ['intents:approve', 'POST', '/v1/wallets/:wallet/transaction-intents/:intent/approve'],
  ['events:read', 'GET', '/v1/events'],
  ['webhooks:read', 'GET', '/v1/webhooks'],
  ['webhooks:write', 'POST', '/v1/webhooks/:hook/ping'],
  ['webhooks:write', 'POST', '/v1/webhooks/:hook/rotate-secret'],
  ['compliance:read', 'GET', '/v1/compliance/lists'],
  ['risk:read', 'GET', '/v1/risk/rules'],
  ['policies:read', 'GET', '/v1/policies'],
  ['recon:read', 'GET', '/v1/recon/jobs'],
  ['recon:read', 'GET', '/v1/recon/exceptions'],
  ['vaults:read', 'GET', '/v1/vaults'],
  ['treasury:read', 'GET', '/v1/treasury/plans'],
  ['tokens:read', 'GET', '/v1/tokens'],
  ['modules:read', 'GET', '/v1/modules'],
  ['signing:read', 'GET', '/v1/sessions'],
];

export class AccessClient {
  readonly #tenancy: Tenancy;
  readonly #operator: Operator;
  readonly #draw: Draw;

  constructor(tenancy: Tenancy, operator: Operator, draw: Draw) {
    this.#tenancy = tenancy;
    this.#operator = operator;
    this.#draw = draw;
  }

  step(step: FamilyStep<'access'>): Promise<void> {
    return step === 'rotate_token' ? this.#rotate() : this.#lacks();
  }

  /** "A rotated token has the same vote", and its first answer for a key. */
  async #rotate(): Promise<void> {
    if (!(await this.#tenancy.rotate(this.#operator))) return;
    this.#tenancy.landmarks.reach('token rotated');
    const { status, body } = await this.#operator.call('GET', '/v1/wallets');
    if (status !== 200) found('changes-take-effect', `a rotated token gets ${status} ${JSON.stringify(body)}`);
  }

  /** "A token lacking permission for the operation gives 403." */
  async #lacks(): Promise<void> {
    const all = [...new Set(guarded.map(([scope]) => scope))];
    const held = all.filter(() => this.#draw.chance(0.5));
    if (held.length === 0) return;
    const { operator } = await this.#tenancy.hire('part', undefined, held);
    for (let count = 0; count < callsEach; count += 1) {
      const [scope, method, path] = this.#draw.pick(guarded);
      if (held.includes(scope)) continue;
      const target = this.#named(path);
      if (target === undefined) continue;
      const key = method === 'POST' ? this.#tenancy.key('lacks') : undefined;
      const answer = await operator.call(method, target, method === 'POST' ? {} : undefined, key);
      if (answer.status !== 403) {
        found('tenants-apart', `${method} ${target} without ${scope} answers ${answer.status} ${issuesOf(answer)}`);
      }
    }
  }

  /** undefined: there is no such resource yet. */
  #named(path: string): string | undefined {
    const { wallets, hooks, submitted } = this.#tenancy;
    const made = submitted.findLast(({ intentId }) => intentId !== null);
    if (path.includes(':intent')) {
      return made && path.replace(':wallet', made.walletId).replace(':intent', made.intentId!);
    }
    const hook = hooks.find(({ deletedMs }) => deletedMs === undefined);
    if (path.includes(':hook')) return hook && path.replace(':hook', hook.id);
    return path.replace(':wallet', this.#draw.pick(wallets).id);
  }
}
