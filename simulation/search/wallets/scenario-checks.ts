/**
 * The checks of a search on a run of a scenario: of every answer, of the event log, and of the model of each tenant, as far as the
 * calls say what the model needs (facts.ts).
 */
import type { CheckedScenario, ScenarioStep } from '../../../scenarios/runner/format.ts';
import type { CustodyWorld, WorldIssuedToken } from '../../service/custody-world.ts';
import type { PrincipalClient, ScenarioChecks } from '../../service/scenario/run.ts';
import { Answers, type SentRequest } from './answer-invariants.ts';
import { learn } from './facts.ts';
import { Landmarks } from './landmarks.ts';
import { startingTerms } from './policies.ts';
import { agreed, checkLog, delivered } from './settle.ts';
import { Tenancy } from './tenancy.ts';

const withinMs = 24 * 3_600_000;

/** Pass it to `runInCustodyWorld`. */
export function searchChecks(world: CustodyWorld, scenario: CheckedScenario, blockMs: number): ScenarioChecks {
  return new Checks(world, scenario, blockMs);
}

class Checks implements ScenarioChecks {
  readonly #world: CustodyWorld;
  readonly #blockMs: number;
  /** False: some answers are the scenario's own. */
  readonly #isChecked: boolean;
  readonly #isCalm: boolean;
  /** Whether receivers answer as a scenario says: they may refuse what is due. */
  readonly #hasReceivers: boolean;
  /** Whether custodians report what did not happen. */
  readonly #drifts: boolean;
  readonly #answers = new Answers();
  readonly #tenancies = new Map<string, Tenancy>();
  readonly #unmodelled = new Set<Tenancy>();

  constructor(world: CustodyWorld, { faults, clients, cluster }: CheckedScenario, blockMs: number) {
    const steps: readonly ScenarioStep[] = Object.values(clients).flat();
    const all = [...faults, ...steps.flatMap((step) => ('inject' in step ? [step.inject] : []))];
    this.#world = world;
    this.#blockMs = blockMs;
    this.#isChecked = !all.some(({ fault }) => fault === 'answer_status');
    this.#hasReceivers = steps.some((step) => 'answers' in step);
    this.#drifts = steps.some((step) => 'api' in step && step.api === 'sandbox.addDrift');
    const isDelayed = this.#hasReceivers || cluster.rate_limits !== undefined;
    this.#isCalm = all.length === 0 && !isDelayed && !steps.some((step) => 'advance_ms' in step);
  }

  caller(tenant: string, issued: WorldIssuedToken): PrincipalClient | undefined {
    if (!this.#isChecked) return undefined;
    const tenancy = this.#tenancies.get(tenant) ?? this.#open(tenant);
    const operator = tenancy.admit(issued);
    tenancy.operators.push(operator);
    return operator;
  }

  #open(tenant: string): Tenancy {
    const world = this.#world;
    const tenancy: Tenancy = new Tenancy(tenant, {
      ...{ world, answers: this.#answers, landmarks: new Landmarks(), isCalm: this.#isCalm },
      recorded: (asked: SentRequest) => {
        const askedMs = world.nowMs;
        return (answer) => {
          if (!learn(tenancy, { asked, answer, askedMs, answeredMs: world.nowMs })) this.#unmodelled.add(tenancy);
        };
      },
    });
    this.#tenancies.set(tenant, tenancy);
    return tenancy;
  }

  async end(): Promise<void> {
    const tenancies = [...this.#tenancies.values()];
    for (const tenancy of tenancies) {
      const isModelled = !this.#unmodelled.has(tenancy);
      if (isModelled) await this.#world.run(this.#start(tenancy), withinMs);
      if (!this.#drifts) await this.#world.run(agreed(tenancy, tenancies, this.#blockMs), withinMs);
      if (!this.#hasReceivers) await this.#world.run(delivered(tenancy), withinMs);
      await this.#world.run(checkLog(tenancy, isModelled), withinMs);
    }
  }

  /** The policy that the tenant began with. */
  async #start({ owner, policies }: Tenancy): Promise<void> {
    const listed = await owner.list<{ readonly id: string; readonly name: string }>('/v1/policies', 'policies');
    const { id = '', name = '' } = listed.find((one) => one.name === 'default') ?? {};
    policies.unshift({ id, name, version: 1, askedMs: 0, madeMs: 0, content: startingTerms });
  }
}
