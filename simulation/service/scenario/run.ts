/**
 * Runs a scenario that uses the wallet API in the simulated world of the whole product, in virtual time. The same scenario,
 * seed and cryptography give the same run, byte for byte.
 */
import { allScopes, sandboxScopes } from '../../../gateway/api/scopes.ts';
import type { IssuedToken } from '../../../gateway/auth/token-store.ts';
import { rateLimitDefaults } from '../../../gateway/limits/rate-limits.ts';
import { CustodyBook } from '../../../scenarios/runner/custody-book.ts';
import { owner } from '../../../scenarios/runner/custody-format.ts';
import type { CheckedScenario } from '../../../scenarios/runner/format.ts';
import { runScenario } from '../../../scenarios/runner/run.ts';
import { type SimulatedOptions, SimulatedRun } from '../../../scenarios/runner/simulated-world.ts';
import type { Run, ScenarioWorld, Verdict } from '../../../scenarios/runner/world.ts';
import { CustodyWorld } from '../custody-world.ts';
import { Finding } from '../invariants/finding.ts';
import { brokenBooks, readersOf } from './books.ts';
import { custodyScenarioWorld, type PrincipalClient, tenantOf } from './world.ts';

/** A longer run waits for something that never happens. */
const runMaxMs = 30 * 24 * 3_600_000;
/** After a passed run, final outcomes get this much time. */
const settleMs = 60_000;
/** As in a sandbox for tests (clients/testing/live-process.ts). */
const retryScheduleMs = [200, 1_000, 5_000];
const chainBlockMs = 1_000;

/** Further checks of a run, which throw a Finding. */
export interface ScenarioChecks {
  /** A principal whose calls are checked; undefined: its calls are not. */
  caller(tenant: string, issued: IssuedToken): PrincipalClient | undefined;
  /** The run has passed, and its faults are over. */
  end(): Promise<void>;
}

export type { PrincipalClient };

export interface CustodyRunOptions extends SimulatedOptions {
  /** None by default. */
  readonly checks?: (world: CustodyWorld, scenario: CheckedScenario, blockMs: number) => ScenarioChecks;
}

/** Runs a scenario in virtual time. */
export function runInCustodyWorld(scenario: CheckedScenario, options: CustodyRunOptions = {}): Promise<Run> {
  return new CustodyRun(scenario, options).run();
}

class CustodyRun extends SimulatedRun {
  readonly #custody = new CustodyBook();
  readonly #world: CustodyWorld;
  readonly #checks: ScenarioChecks | undefined;

  constructor(scenario: CheckedScenario, options: CustodyRunOptions) {
    // The events of sessions are in the tenants' log here: the books check it for gaps.
    super(scenario, options, { delivers: false, without: ['events-complete'] });
    const { gateways, workers, rate_limits: limits } = scenario.cluster;
    const { crypto = 'real' } = options;
    this.#world = new CustodyWorld({
      ...this.clusterOptions,
      ...(gateways !== undefined && { gateways }),
      ...(workers !== undefined && { workers }),
      rateLimits: limits && { ...rateLimitDefaults, ...limits },
      cryptography: crypto,
      codec: crypto === 'model' ? 'none' : 'bytes',
      ...{ retryScheduleMs, chainBlockMs },
    });
    this.#checks = options.checks?.(this.#world, scenario, chainBlockMs);
  }

  async run(): Promise<Run> {
    const tokens = await this.#tokens();
    const callers = new Map(
      [...tokens].map(([by, issued]) => [
        by,
        this.#checks?.caller(tenantOf(by), issued) ?? this.#world.client(issued.token),
      ]),
    );
    const world = custodyScenarioWorld(this.#world, callers, tokens.get(owner)!.token, this.seen);
    let verdict: Verdict;
    let tookMs: number | undefined;
    try {
      verdict = await this.#evaluate(world);
      tookMs = this.#world.cluster.scenarioMs;
      if (verdict.kind === 'passed') verdict = await this.#settle(world, [...tokens.keys()]);
    } catch (error) {
      if (!(error instanceof Finding)) throw error;
      verdict = { kind: 'violated', invariant: error.invariant, cause: error.message };
    }
    return this.result(verdict, tookMs ?? this.#world.cluster.scenarioMs);
  }

  /** Every principal gets its token before the run, without time or faults. */
  async #tokens(): Promise<ReadonlyMap<string, IssuedToken>> {
    const tokens = new Map<string, IssuedToken>();
    for (const by of CustodyBook.principals(Object.values(this.scenario.clients).flat())) {
      const scopes = by === owner ? allScopes : sandboxScopes;
      const request = { tenant: tenantOf(by), environment: 'sandbox', scopes, name: by } as const;
      tokens.set(by, await this.#world.run(this.#world.issue(request)));
    }
    return tokens;
  }

  async #evaluate(world: ScenarioWorld): Promise<Verdict> {
    let verdict: Verdict | undefined;
    const done = (found: Verdict) => {
      verdict = found;
      this.#world.time.woken();
    };
    runScenario(this.scenario, world, done, { ...this.options, verify: this.verify, custody: this.#custody });
    this.#world.time.woken();
    await this.#world.loop.until(() => verdict !== undefined || this.isStopped, runMaxMs);
    return this.evaluated(verdict);
  }

  /** The run has passed: faults end, then pending outcomes complete, or a checker reports that they do not. */
  async #settle(world: ScenarioWorld, principals: readonly string[]): Promise<Verdict> {
    this.#world.clusters.heal();
    const books = { world, book: this.#custody, readers: readersOf(principals), verify: this.verify, settleMs };
    const texts = await this.#world.run(brokenBooks(books), 10 * settleMs);
    await this.#checks?.end();
    const atMs = this.#world.cluster.scenarioMs;
    for (const text of texts) this.checkers.violate('books-right', text, atMs);
    this.checkers.finish(atMs);
    return this.checked();
  }
}
