/**
 * A simulated cluster for a test: the service's actors in virtual time. Awaiting an answer lets time pass until it is
 * there; what is asked for in the same turn of the event loop happens at the same virtual time.
 */
import type { RunEvent } from '../faults/recording.ts';
import { simulatedWorld } from '../runner/scenario/simulated-world.ts';
import type { ScenarioWorld } from '../runner/scenario/world.ts';
import { SimCluster } from '../sim/cluster.ts';
import { allCheckers } from '../sim/invariants/checkers.ts';
import type { Checker, Violation } from '../sim/observation.ts';
import { TestCluster } from './cluster.ts';

/** A call without an answer is lost after so long, as a live client's is. */
const callTimeoutMs = 35_000;

export interface SimulatedClusterOptions {
  readonly nodes: number;
  readonly seed: string;
  readonly partialTimeoutMs: number;
  readonly nodesWaitMs: number;
  readonly receiver: boolean;
}

export function simulatedCluster(options: SimulatedClusterOptions): TestCluster {
  const { nodes, seed, partialTimeoutMs, nodesWaitMs, receiver } = options;
  const events: RunEvent[] = [];
  const violations: Violation[] = [];
  let checkers = checkersOf(receiver);
  const cluster = new SimCluster({
    seed,
    nodes,
    receiver,
    config: { partialTimeoutMs, nodesWaitMs },
    callTimeoutMs,
    sweeping: true,
    onBug: 'record',
    keepTrace: false,
    record: (event) => events.push(event),
    observe: (observation) => {
      for (const checker of checkers) {
        const text = checker.observe(observation);
        if (text === undefined) continue;
        const atMs = cluster.scenarioMs;
        violations.push({ invariant: checker.invariant, text, atMs });
        events.push({ kind: 'violation', atMs, invariant: checker.invariant, text });
      }
    },
  });
  const world = new Driven(cluster, simulatedWorld(cluster, { events, violations, recordsSteps: true }));
  type Snapshot = ReturnType<SimCluster['snapshot']>;
  const taken = new WeakSet<Snapshot>();
  const take = () => {
    const snapshot = cluster.snapshot();
    taken.add(snapshot);
    return snapshot;
  };
  const restore = async (snapshot: Snapshot) => {
    cluster.restore(snapshot);
    await world.settle();
  };
  const fresh = take();
  return new TestCluster(world, {
    nodes,
    drive: () => world.drive(),
    takeSnapshot: async () => take(),
    restoreSnapshot: async (snapshot) => {
      if (!taken.has(snapshot as Snapshot))
        throw new TypeError('this is no snapshot of this cluster: see takeSnapshot');
      // The checkers remember events that are now undone: from here on none checks.
      checkers = [];
      await restore(snapshot as Snapshot);
    },
    reset: () => {
      checkers = checkersOf(receiver);
      cluster.heal();
      return restore(fresh);
    },
    recording: async () => events,
    stop: async () => undefined,
  });
}

function checkersOf(delivers: boolean): readonly Checker[] {
  return allCheckers({ delivers });
}

/** A simulated world that knows how many answers are awaited. */
class Driven implements ScenarioWorld {
  readonly kind = 'simulated';
  readonly #cluster: SimCluster;
  readonly #world: ScenarioWorld;
  #awaited = 0;
  #answered = 0;
  #driving = false;

  constructor(cluster: SimCluster, world: ScenarioWorld) {
    this.#cluster = cluster;
    this.#world = world;
  }

  nowMs(): number {
    return this.#world.nowMs();
  }

  idOf(name: string): string {
    return this.#world.idOf(name);
  }

  recording(): readonly RunEvent[] {
    return this.#world.recording();
  }

  violations() {
    return this.#world.violations();
  }

  ask: ScenarioWorld['ask'] = (question, asks, gets) => {
    this.#awaited += 1;
    this.#world.ask(question, asks, (answer) => {
      this.#awaited -= 1;
      this.#answered += 1;
      gets(answer);
    });
  };

  /** Lets virtual time pass until a call has its answer; repeats while calls wait. */
  drive(): void {
    if (this.#driving) return;
    this.#driving = true;
    setImmediate(() => {
      this.#driving = false;
      if (this.#awaited === 0) return;
      const before = this.#answered;
      const { time } = this.#cluster;
      // A client's timeout bounds every call: a next answer always comes.
      if (time.runUntil(() => this.#answered > before)) this.drive();
    });
  }

  /** Until every node is linked again. */
  settle(): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (this.#cluster.nodesReady() === this.#cluster.roster.nodes.length) resolve();
        else this.ask('wait', { ms: 5 }, look);
        this.drive();
      };
      look();
    });
  }
}
