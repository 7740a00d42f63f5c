/** A client of a random run that uses the companion modules: vaults, token orders, treasury plans, reconciliation. */
import type { Draw } from './draw.ts';
import { found } from './finding.ts';
import type { Operator } from './operator.ts';
import type { ModuleFacts, Tenancy } from './tenancy.ts';

export const moduleSteps = ['vault', 'sign', 'issue', 'mint', 'redeem', 'plan', 'recon'] as const;
export type ModuleStep = (typeof moduleSteps)[number];

export class ModuleClient {
  readonly #tenancy: Tenancy;
  readonly #operator: Operator;
  readonly #draw: Draw;

  constructor(tenancy: Tenancy, operator: Operator, draw: Draw) {
    this.#tenancy = tenancy;
    this.#operator = operator;
    this.#draw = draw;
  }

  async step(step: ModuleStep): Promise<void> {
    const facts = await this.#facts();
    switch (step) {
      case 'vault': {
        if (facts.vaults.length >= 2) return;
        const body = { name: this.#tenancy.key('vault'), keystore_type: 'mpc_frost', curve: 'ed25519' };
        const vault = await this.#operator.made('/v1/vaults', body, this.#tenancy.key('vault'));
        facts.vaults.push({ id: vault.id, keyId: vault.keys?.[0]?.id ?? '' });
        return;
      }
      case 'recon': {
        const body = { kind: this.#draw.pick(['transactions', 'balances']) };
        const job = await this.#operator.made('/v1/recon/jobs', body, this.#tenancy.key('job'));
        facts.jobs.push(job.id);
        return;
      }
      default:
        return;
    }
  }

  async #facts(): Promise<ModuleFacts> {
    const { modules } = this.#tenancy;
    if (modules !== undefined) return modules;
    const made: ModuleFacts = { vaults: [], tokens: [], orders: [], jobs: [], plans: [] };
    this.#tenancy.modules = made;
    for (const module of ['vaults', 'tokens', 'treasury']) {
      await this.#operator.call(
        'POST',
        `/v1/modules/${module}/access-requests`,
        { reason: 'drawn' },
        this.#tenancy.key('access'),
      );
    }
    return made;
  }
}

/** Jobs, orders and plans end; what they did adds up. */
export async function checkModules({ modules, owner, world }: Tenancy, withinMs: number): Promise<void> {
  if (modules === undefined) return;
  const sinceMs = world.nowMs;
  for (const id of modules.jobs) {
    for (;;) {
      const { status, body } = await owner.call('GET', `/v1/recon/jobs/${id}`);
      if (status !== 200) found('orders-end', `GET of job ${id}: ${status}`);
      if (['completed', 'cancelled'].includes(body.status)) break;
      if (body.status === 'failed' || world.nowMs - sinceMs > withinMs)
        found('orders-end', `job ${id} is ${body.status}`);
      await owner.client.pause(1_000);
    }
  }
}
