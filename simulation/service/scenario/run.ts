/**
 * Runs a scenario that uses the wallet API in the simulated world of the whole product, in virtual time. The same scenario,
 * seed and cryptography give the same run, byte for byte.
 */
import { allScopes, sandboxScopes } from '../../../gateway/api/scopes.ts';
import { rateLimitDefaults } from '../../../gateway/limits/rate-limits.ts';
import type { RunEvent } from '../../../scenarios/faults/recording.ts';
import { CustodyBook } from '../../../scenarios/runner/custody-book.ts';
import { owner } from '../../../scenarios/runner/custody-format.ts';
import type { CheckedScenario } from '../../../scenarios/runner/format.ts';
import { runScenario } from '../../../scenarios/runner/run.ts';
import { RunCheckers } from '../../../scenarios/runner/run-checkers.ts';
import {
  coordinatorConfig,
  readyMadeKeys,
  type SimulatedOptions,
  simulatedReplay,
} from '../../../scenarios/runner/simulated-world.ts';
import type { Run, ScenarioWorld, Verdict } from '../../../scenarios/runner/world.ts';
import { releasedVerifier } from '../../cluster/invariants/verifier.ts';
import { CustodyWorld } from '../custody-world.ts';
import { brokenBooks, readersOf } from './books.ts';
import { custodyScenarioWorld, tenantOf } from './world.ts';

/** A longer run waits for something that never happens. */
const runMaxMs = 30 * 24 * 3_600_000;
/** After a passed run, final outcomes get this much time. */
const settleMs = 60_000;
/** As in a sandbox for tests (clients/testing/live-process.ts). */
const retryScheduleMs = [200, 1_000, 5_000];

/** Runs a scenario in virtual time. */
export function runInCustodyWorld(scenario: CheckedScenario, options: SimulatedOptions = {}): Promise<Run> {
  return new CustodyRun(scenario, options).run();
}

class CustodyRun {
  readonly #scenario: CheckedScenario;
  readonly #options: SimulatedOptions;
  readonly #seed: string;
  readonly #verify;
  readonly #checkers: RunCheckers;
  readonly #events: RunEvent[] = [];
  readonly #custody = new CustodyBook();
  readonly #world: CustodyWorld;

  constructor(scenario: CheckedScenario, options: SimulatedOptions) {
    this.#scenario = scenario;
    this.#options = options;
    this.#seed = options.seed ?? scenario.cluster.seed;
    this.#verify = options.verify ?? releasedVerifier;
    const { nodes, clusters, gateways = 1, workers = 1, client_dealers: consents } = scenario.cluster;
    const { rate_limits: limits } = scenario.cluster;
    this.#checkers = new RunCheckers({
      ...{ clusters, first: options.checkers },
      context: { verify: this.#verify, consents: () => consents },
      // The events of sessions are in the tenants' log here: the books check it for gaps.
      without: ['events-complete'],
      events: options.record === false ? undefined : this.#events,
    });
    const crypto = options.crypto ?? 'real';
    this.#world = new CustodyWorld({
      seed: this.#seed,
      ...{ nodes, clusters, gateways, workers },
      rateLimits: limits && { ...rateLimitDefaults, ...limits },
      config: coordinatorConfig(scenario),
      clientDealers: () => consents,
      ...readyMadeKeys(scenario, this.#seed),
      cryptography: crypto,
      codec: crypto === 'model' ? 'none' : 'bytes',
      sweeping: true,
      sweepEveryMs: scenario.cluster.sweep_ms,
      onBug: 'record',
      keepTrace: false,
      retryScheduleMs,
      observe: (observation, cluster) => this.#checkers.observe(cluster, observation),
      ...(options.record === false ? {} : { record: (event: RunEvent) => void this.#events.push(event) }),
    });
  }

  async run(): Promise<Run> {
    const { scenario, about, cluster } = this.#scenario;
    const tokens = await this.#tokens();
    const world = custodyScenarioWorld(this.#world, tokens, {
      events: this.#events,
      violations: this.#checkers.violations,
      recordsSteps: this.#options.record !== false,
    });
    const evaluated = await this.#evaluate(world);
    const tookMs = this.#world.cluster.scenarioMs;
    const verdict = evaluated.kind === 'passed' ? await this.#settle(world, [...tokens.keys()]) : evaluated;
    return {
      ...{ scenario, about, world: 'simulated', seed: this.#seed, nodes: cluster.nodes, verdict, tookMs },
      ...(cluster.clusters !== undefined && { clusters: cluster.clusters }),
      replay: simulatedReplay(this.#scenario, this.#seed, this.#options),
      events: this.#events,
    };
  }

  /** Every principal gets its token before the run, without time or faults. */
  async #tokens(): Promise<ReadonlyMap<string, string>> {
    const tokens = new Map<string, string>();
    for (const by of CustodyBook.principals(Object.values(this.#scenario.clients).flat())) {
      const scopes = by === owner ? allScopes : sandboxScopes;
      const request = { tenant: tenantOf(by), environment: 'sandbox', scopes, name: by } as const;
      tokens.set(by, await this.#world.run(this.#world.token(request)));
    }
    return tokens;
  }

  async #evaluate(world: ScenarioWorld): Promise<Verdict> {
    let verdict: Verdict | undefined;
    const done = (found: Verdict) => {
      verdict = found;
      this.#world.loop.woken();
    };
    runScenario(this.#scenario, world, done, { ...this.#options, verify: this.#verify, custody: this.#custody });
    this.#world.loop.woken();
    await this.#world.loop.until(() => verdict !== undefined || this.#isStopped, runMaxMs);
    if (this.#isStopped) return this.#checkers.verdict ?? { kind: 'passed' };
    return (
      verdict ?? { kind: 'stuck', what: 'nothing is left to happen', cause: 'a client waits for what never comes' }
    );
  }

  /** The run has passed: faults end, then pending outcomes complete, or a checker reports that they do not. */
  async #settle(world: ScenarioWorld, principals: readonly string[]): Promise<Verdict> {
    this.#world.clusters.heal();
    const books = { world, book: this.#custody, readers: readersOf(principals), verify: this.#verify, settleMs };
    const texts = await this.#world.run(brokenBooks(books), 10 * settleMs);
    const atMs = this.#world.cluster.scenarioMs;
    for (const text of texts) this.#checkers.violate('books-right', text, atMs);
    this.#checkers.finish(atMs);
    return this.#checkers.verdict ?? { kind: 'passed' };
  }

  get #isStopped(): boolean {
    return this.#options.stopsAtViolation === true && this.#checkers.violations.length > 0;
  }
}
