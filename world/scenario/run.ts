/**
 * Runs a scenario that uses the wallet API in the simulated world of the whole product, in virtual time. The same scenario,
 * seed and cryptography give the same run, byte for byte.
 */
import { allScopes, sandboxScopes } from '../../api/scopes.ts';
import type { RunEvent } from '../../faults/recording.ts';
import { rateLimitDefaults } from '../../gateway/limits/rate-limits.ts';
import { CustodyBook } from '../../runner/scenario/custody-book.ts';
import { owner } from '../../runner/scenario/custody-format.ts';
import type { CheckedScenario } from '../../runner/scenario/format.ts';
import { runScenario } from '../../runner/scenario/run.ts';
import { coordinatorConfig, type SimulatedOptions, simulatedReplay } from '../../runner/scenario/simulated-world.ts';
import type { Run, ScenarioWorld, Verdict } from '../../runner/scenario/world.ts';
import { allCheckers } from '../../sim/invariants/checkers.ts';
import { releasedVerifier } from '../../sim/invariants/verifier.ts';
import type { Checker, Observation } from '../../sim/observation.ts';
import type { Violation } from '../../sim/violation.ts';
import { CustodyWorld } from '../custody-world.ts';
import { brokenBooks, readersOf } from './books.ts';
import { custodyScenarioWorld, tenantOf } from './world.ts';

/** A longer run waits for something that never happens. */
const runMaxMs = 30 * 24 * 3_600_000;
/** After a passed run, final outcomes get this much time. */
const settleMs = 60_000;
/** As in a sandbox for tests (testing/live-process.ts). */
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
  readonly #checkers: readonly Checker[];
  readonly #events: RunEvent[] = [];
  readonly #violations: Violation[] = [];
  readonly #custody = new CustodyBook();
  readonly #world: CustodyWorld;

  constructor(scenario: CheckedScenario, options: SimulatedOptions) {
    this.#scenario = scenario;
    this.#options = options;
    this.#seed = options.seed ?? scenario.cluster.seed;
    this.#verify = options.verify ?? releasedVerifier;
    const { nodes, gateways = 1, workers = 1, rate_limits: limits, client_dealers: consents } = scenario.cluster;
    // The events of sessions are in the tenants' log here: the books check it for gaps.
    const all = () => allCheckers({ verify: this.#verify, delivers: false, consents: () => consents });
    this.#checkers = options.checkers ?? all().filter(({ invariant }) => invariant !== 'events-complete');
    const crypto = options.crypto ?? 'real';
    this.#world = new CustodyWorld({
      seed: this.#seed,
      ...{ nodes, gateways, workers },
      rateLimits: limits && { ...rateLimitDefaults, ...limits },
      config: coordinatorConfig(scenario),
      clientDealers: () => consents,
      cryptography: crypto,
      codec: crypto === 'model' ? 'none' : 'bytes',
      sweeping: true,
      sweepEveryMs: scenario.cluster.sweep_ms,
      onBug: 'record',
      keepTrace: false,
      retryScheduleMs,
      observe: (observation) => this.#observe(observation),
      ...(options.record === false ? {} : { record: (event: RunEvent) => void this.#events.push(event) }),
    });
  }

  async run(): Promise<Run> {
    const { scenario, about, cluster } = this.#scenario;
    const tokens = await this.#tokens();
    const world = custodyScenarioWorld(this.#world, tokens, {
      events: this.#events,
      violations: this.#violations,
      recordsSteps: this.#options.record !== false,
    });
    const evaluated = await this.#evaluate(world);
    const tookMs = this.#world.cluster.scenarioMs;
    const verdict = evaluated.kind === 'passed' ? await this.#settle(world, [...tokens.keys()]) : evaluated;
    return {
      ...{ scenario, about, world: 'simulated', seed: this.#seed, nodes: cluster.nodes, verdict, tookMs },
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
    if (this.#isStopped) return this.#firstViolation ?? { kind: 'passed' };
    return (
      verdict ?? { kind: 'stuck', what: 'nothing is left to happen', cause: 'a client waits for what never comes' }
    );
  }

  /** The run has passed: faults end, then pending outcomes complete, or a checker reports that they do not. */
  async #settle(world: ScenarioWorld, principals: readonly string[]): Promise<Verdict> {
    this.#world.cluster.heal();
    const books = { world, book: this.#custody, readers: readersOf(principals), verify: this.#verify, settleMs };
    const texts = await this.#world.run(brokenBooks(books), 10 * settleMs);
    const atMs = this.#world.cluster.scenarioMs;
    for (const text of texts) this.#violate('books-right', text, atMs);
    for (const checker of this.#checkers) {
      const text = checker.finish?.();
      if (text !== undefined) this.#violate(checker.invariant, text, atMs);
    }
    return this.#firstViolation ?? { kind: 'passed' };
  }

  get #isStopped(): boolean {
    return this.#options.stopsAtViolation === true && this.#violations.length > 0;
  }

  get #firstViolation(): Verdict | undefined {
    const [first] = this.#violations;
    return first && { kind: 'violated', invariant: first.invariant, cause: first.text };
  }

  #observe(observation: Observation): void {
    for (const checker of this.#checkers) {
      const text = checker.observe(observation);
      if (text !== undefined) this.#violate(checker.invariant, text, observation.atMs);
    }
  }

  #violate(invariant: string, text: string, atMs: number): void {
    this.#violations.push({ invariant, text, atMs });
    if (this.#options.record !== false) this.#events.push({ kind: 'violation', atMs, invariant, text });
  }
}
