/**
 * A simulated world whose time passes while a test awaits its answers. Questions about signing go to the signing cluster;
 * questions about the control plane's data go to its REST API.
 */
import type { RunEvent } from '../../scenarios/faults/recording.ts';
import type { QuestionName, Questions, ScenarioWorld } from '../../scenarios/runner/world.ts';
import type { CustodyWorld } from '../../simulation/service/custody-world.ts';
import { callOverApi, previewOverApi } from './api-calls.ts';
import type { TestCluster } from './cluster.ts';
import { ApiError, loggedEvent, type SandboxApi, sessionFacts } from './sandbox-api.ts';
import type { VirtualDriver } from './virtual-driver.ts';
import type { Webhook } from './webhooks.ts';

export interface DrivenParts {
  readonly world: CustodyWorld;
  readonly driver: VirtualDriver;
  readonly api: SandboxApi;
  readonly signing: ScenarioWorld;
}

type Handlers = { readonly [Q in QuestionName]?: (asks: Questions[Q]['asks']) => Promise<Questions[Q]['gets']> };

/** Pause before another request to a gateway that is down. */
const repeatMs = 25;
const patienceMs = 60_000;
const lookMs = 5;

export class DrivenWorld implements ScenarioWorld {
  readonly kind = 'simulated';
  readonly #parts: DrivenParts;
  #webhook: Webhook | undefined;

  constructor(parts: DrivenParts) {
    this.#parts = parts;
  }

  nowMs(): number {
    return this.#parts.signing.nowMs();
  }

  idOf(name: string): string {
    return this.#parts.signing.idOf(name);
  }

  recording(): readonly RunEvent[] {
    return this.#parts.signing.recording();
  }

  violations() {
    return this.#parts.signing.violations();
  }

  ask: ScenarioWorld['ask'] = (question, asks, gets, fails) => {
    const { signing, world, driver } = this.#parts;
    type Gets = Parameters<typeof gets>[0];
    const handlers = world.clusters.each.length === 1 ? this.#ofOneCluster : this.#ofSeveral;
    const handler = handlers[question] as ((asked: typeof asks) => Promise<Gets>) | undefined;
    const work =
      handler?.(asks) ??
      new Promise<Gets>((resolve) => {
        signing.ask(question, asks, (answer) => {
          world.time.woken();
          resolve(answer);
        });
      });
    driver.run(work).then(gets, (error: unknown) => fails?.(error instanceof Error ? error : new Error(String(error))));
  };

  readonly #ofOneCluster: Handlers = {
    session: async ({ sessionId }) => {
      const found = await this.#insist(() => this.#parts.api.session(sessionId));
      return found && sessionFacts(found);
    },
    events: async () => (await this.#insist(() => this.#parts.api.events(0))).map(loggedEvent),
    delivered: async () =>
      (this.#webhook?.received ?? [])
        .filter(({ status }) => status >= 200 && status < 300)
        .map(({ event: { type } }) => type),
  };

  /** With several clusters, the gateway knows the cluster of a session or key that any client made. */
  readonly #ofSeveral: Handlers = {
    ...this.#ofOneCluster,
    call: (asks) => callOverApi(this.#parts.api, asks),
    previewPartial: (asks) => previewOverApi(this.#parts.api, asks),
  };

  /** From now on `delivered` returns the events that a webhook for all events has acknowledged. */
  async deliverTo(test: TestCluster): Promise<void> {
    this.#webhook = await test.webhooks.open();
  }

  /** Lets time pass until every node is linked. */
  settle(): Promise<void> {
    const { driver, world } = this.#parts;
    const nodes = world.clusters.each.reduce((sum, { roster }) => sum + roster.nodes.length, 0);
    return driver.run(
      (async () => {
        while (world.clusters.nodesReady() < nodes) await this.#pause(lookMs);
      })(),
    );
  }

  /** Lets time pass after the start until the gateway says that it serves. */
  untilServing(): Promise<void> {
    const { api, driver } = this.#parts;
    return driver.run(
      (async () => {
        while ((await api.health()).status !== 'ok') await this.#pause(lookMs);
      })(),
    );
  }

  #pause(ms: number): Promise<void> {
    return this.#parts.world.time.pause(ms);
  }

  async #insist<T>(ask: () => Promise<T>): Promise<T> {
    for (let leftMs = patienceMs; ; leftMs -= repeatMs) {
      try {
        return await ask();
      } catch (error) {
        const mayRepeat = error instanceof ApiError && (error.status === 0 || error.status >= 500);
        if (!mayRepeat || leftMs <= 0) throw error;
      }
      await this.#pause(repeatMs);
    }
  }
}
