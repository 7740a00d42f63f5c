/**
 * The live world of a scenario: a running sandbox, reached only over HTTP. Questions of the runner become calls of the signing
 * API and of /v1/sandbox. Faults of the webhook receiver target this world's own receiver.
 *
 * Faults and processes are the whole sandbox's: one scenario at a time runs on it. Ids belong to this run, so that scenarios may
 * follow each other on one sandbox.
 */
import { randomBytes } from 'node:crypto';
import type { LoggedEvent } from '../../core/redis/event-log.ts';
import type { RunEvent } from '../../scenarios/faults/recording.ts';
import type { Fault } from '../../scenarios/faults/vocabulary/generated-types.ts';
import { owner } from '../../scenarios/runner/custody-format.ts';
import type { CallTypes, QuestionName, Questions, ScenarioWorld } from '../../scenarios/runner/world.ts';
import type { Checker, Observation } from '../../simulation/cluster/observation.ts';
import type { Violation } from '../../simulation/cluster/violation.ts';
import type { Event, SandboxFault } from '../client/generated-api.ts';
import { callOverApi, previewOverApi } from './api-calls.ts';
import { GrpcCaller } from './grpc-caller.ts';
import { LiveReceivers } from './live-receivers.ts';
import { ApiError, loggedEvent, type SandboxApi, sessionFacts } from './sandbox-api.ts';
import { WebhookReceiver } from './webhook-receiver.ts';
import type { OpenReceiver } from './webhooks.ts';

export interface LiveWorldOptions {
  readonly api: SandboxApi;
  /** Nodes of the sandbox, in all its clusters. */
  readonly nodes: number;
  /** Whether there is a receiver of webhooks, and whether it gets every event of the sandbox's tenant. */
  readonly receiver: boolean | 'registered';
  /** Gateways that get the calls of the wallet API in turn; only the gateway of `api` by default. */
  readonly doors?: readonly string[];
  /** host:port of their gRPC servers; without it no call uses gRPC. */
  readonly grpcAddresses?: readonly string[];
  /** The token of gRPC calls, with every scope. Secret. */
  readonly token?: string;
  /** Checks answers, events and faults; a live world shows no frames and no writes. */
  readonly checkers?: readonly Checker[];
  /** A step has begun. */
  readonly onStep?: (step: string) => void;
}

type Handlers = { readonly [Q in QuestionName]: (asks: Questions[Q]['asks']) => Promise<Questions[Q]['gets']> };

const apiRepeatMs = 25;
const apiPatienceMs = 60_000;

export class LiveWorld implements ScenarioWorld {
  readonly kind = 'live';
  readonly #api: SandboxApi;
  readonly #options: LiveWorldOptions;
  readonly #run = randomBytes(4).toString('hex');
  readonly #grpc: GrpcCaller | undefined;
  readonly #receiver: WebhookReceiver | undefined;
  readonly #receivers: LiveReceivers;
  readonly #observed: RunEvent[] = [];
  readonly #violations: Violation[] = [];
  readonly #seenEvents = new Set<string>();
  readonly #beganMs = performance.now();
  readonly #beganEpochMs = Date.now();
  readonly #tokens = new Map<string, string>();
  #webhook: string | undefined;
  /** By the clock of the sandbox, RFC 3339. */
  #since = '';
  #recordingFrom = 0;
  #calls = 0n;
  #requests = 0;
  #faults = 0;

  private constructor(options: LiveWorldOptions, receiver: WebhookReceiver | undefined) {
    this.#options = options;
    this.#api = options.api;
    this.#receiver = receiver;
    const { grpcAddresses = [], token = '' } = options;
    if (grpcAddresses.length > 0) this.#grpc = new GrpcCaller(grpcAddresses, token);
    this.#receivers = new LiveReceivers(receiver, options.nodes, () => this.nowMs());
  }

  /** Resolves when the sandbox is ready for a scenario: no faults, every process up. */
  static async open(options: LiveWorldOptions): Promise<LiveWorld> {
    const receiver = options.receiver !== false ? await WebhookReceiver.start() : undefined;
    const world = new LiveWorld(options, receiver);
    try {
      await world.#heal();
      const { now } = await options.api.request<{ now: string }>('GET', '/v1/sandbox/clock');
      world.#since = now;
      world.#recordingFrom = await options.api.recordingEnd();
      if (receiver && options.receiver === 'registered') {
        const body = { url: receiver.url, events: ['*'] };
        world.#webhook = (await options.api.request<{ id: string }>('POST', '/v1/webhooks', body)).id;
      }
      return world;
    } catch (error) {
      await receiver?.stop();
      throw error;
    }
  }

  /** Leaves the sandbox healed, without the webhook. */
  async close(): Promise<void> {
    await this.#heal();
    if (this.#webhook !== undefined)
      await this.#insist(() => this.#api.request('DELETE', `/v1/webhooks/${this.#webhook}`));
    await this.#stopReceivers();
  }

  /** The sandbox itself ends: there is nothing to heal. */
  async abandon(): Promise<void> {
    await this.#stopReceivers();
  }

  get openReceiver(): OpenReceiver {
    return this.#receivers.open;
  }

  async #stopReceivers(): Promise<void> {
    this.#grpc?.close();
    await this.#receivers.stop();
  }

  /** Possible causes of a stuck test, in words. */
  async obstacles(): Promise<readonly string[]> {
    const processes = await this.#api.processes();
    const away = processes.filter(({ state, linked }) => state !== 'running' || linked === false);
    const faults = (await this.#api.faults()).filter(({ state }) => state !== 'over');
    return [
      ...away.map(({ process, state }) => `${process} is ${state}: custody.heal() brings it up`),
      ...faults.map(({ id }) => `the fault ${id} is in force`),
    ];
  }

  /** The time from which its events belong to this cluster, by the clock of the sandbox, RFC 3339. */
  get since(): string {
    return this.#since;
  }

  /** The cluster that holds a session, by its coordinator; undefined: there is no such session. */
  async clusterOf(sessionId: string): Promise<number | undefined> {
    return (await this.#insist(() => this.#api.session(sessionId)))?.cluster;
  }

  nowMs(): number {
    return Math.round(performance.now() - this.#beganMs);
  }

  idOf(name: string): string {
    return `${name}-${this.#run}`;
  }

  ask<Q extends QuestionName>(
    question: Q,
    asks: Questions[Q]['asks'],
    gets: (answer: Questions[Q]['gets']) => void,
    fails?: (error: Error) => void,
  ): void {
    // A call that was under way when the run ended.
    if (this.#failed !== undefined && fails === undefined) return;
    const handler = this.#handlers[question] as (asks: Questions[Q]['asks']) => Promise<Questions[Q]['gets']>;
    handler(asks).then(gets, (cause: unknown) => {
      const error = cause instanceof Error ? cause : new Error(String(cause));
      if (fails) return fails(error);
      // The sandbox itself does not answer, so the scenario gets no verdict.
      this.end(error);
    });
  }

  /** The run has no verdict, and asks nothing more. */
  end(why: Error): void {
    this.#failed ??= why;
    this.#onFailure?.(this.#failed);
  }

  #failed: Error | undefined;
  #onFailure: ((error: Error) => void) | undefined;

  /** Called once when the sandbox no longer answers this world: the run has no verdict. */
  onFailure(listener: (error: Error) => void): void {
    this.#onFailure = listener;
    if (this.#failed) listener(this.#failed);
  }

  /** The events that this side saw; `readRecording` adds the traffic between the processes. */
  recording(): readonly RunEvent[] {
    return this.#observed;
  }

  /** Adds the events that the fault injector saw, in the order of time. */
  async readRecording(): Promise<void> {
    for (let after = this.#recordingFrom; ; ) {
      const { events, next, began_at } = await this.#insist(() => this.#api.recording(after));
      const aheadMs = Date.parse(began_at) - this.#beganEpochMs;
      this.#observed.push(...events.map((event) => shifted(event, aheadMs)));
      if (next === after || events.length === 0) break;
      after = next;
    }
    this.#observed.sort((a, b) => a.atMs - b.atMs);
  }

  violations(): readonly Violation[] {
    return this.#violations;
  }

  readonly #handlers: Handlers = {
    call: async (asks) => {
      this.#calls += 1n;
      const { name, request, transport, deadlineMs } = asks;
      if (transport !== 'grpc' || name === 'refreshKey') return callOverApi(this.#api, asks);
      if (this.#grpc === undefined) throw new Error('this world has no gRPC address');
      return this.#grpc.call(name, request as CallTypes[typeof name][0], deadlineMs);
    },
    walletCall: async ({ name }) => {
      throw new Error(`${name} of the wallet service is asked in the simulated world alone`);
    },
    previewPartial: (asks) => previewOverApi(this.#api, asks),
    session: async ({ sessionId }) => {
      const found = await this.#insist(() => this.#api.session(sessionId));
      return found && sessionFacts(found);
    },
    nodesReady: async () => {
      const { nodes_ready } = await this.#insist(() => this.#api.health());
      return nodes_ready;
    },
    inject: async ({ fault }) => {
      try {
        return { id: await this.#inject(fault) };
      } catch (error) {
        if (error instanceof ApiError && error.status >= 400 && error.status < 500) return { failure: error.message };
        throw error;
      }
    },
    triggerCount: async ({ id }) => {
      const ofReceiver = this.#receivers.triggerCount(id);
      return ofReceiver ?? (await this.#insist(() => this.#api.fault(id))).trigger_count;
    },
    heal: () => this.#heal(),
    advance: async ({ byMs }) => {
      // The sandbox refuses a step of zero.
      if (byMs > 0) await this.#api.advance(byMs);
      return undefined;
    },
    step: async (step) => {
      this.#observed.push({ kind: 'step', atMs: this.nowMs(), ...step });
      if (step.what === 'began') {
        this.#options.onStep?.(step.step);
        this.#receivers.step(step.step);
        await this.#insist(() => this.#api.step(step.step));
      }
      return undefined;
    },
    wait: ({ ms }) => new Promise((resolve) => setTimeout(() => resolve(undefined), ms)),
    events: async () => {
      const path = `/v1/events?limit=100&created_after=${encodeURIComponent(this.#since)}`;
      const events: Event[] = [];
      for (let cursor = ''; ; ) {
        const page = await this.#insist(() =>
          this.#api.request<{ events: readonly Event[]; has_more: boolean; next_cursor: string | null }>(
            'GET',
            cursor === '' ? path : `${path}&cursor=${encodeURIComponent(cursor)}`,
          ),
        );
        events.push(...page.events);
        if (!page.has_more || page.next_cursor === null) break;
        cursor = page.next_cursor;
      }
      return events.map((event) => this.#logged(event));
    },
    delivered: async () => this.#receiver?.acknowledged() ?? [],
    request: async ({ by, method, target, body, key }) => {
      // The chains are all tenants', so the owner calls them with the sandbox's own token.
      const isChains = by === owner && target.startsWith('/v1/sandbox/chains/');
      const token = isChains ? undefined : await this.#tokenOf(by);
      const { doors = [] } = this.#options;
      const door = doors[this.#requests % Math.max(1, doors.length)];
      this.#requests += 1;
      return this.#api.once(method, target, {
        ...(token !== undefined && { token }),
        ...(door !== undefined && { door }),
        ...(body && { body }),
        ...(key !== undefined && { key }),
      });
    },
    receiver: async ({ name, answers }) => {
      if (!this.#receiver) throw new Error('this world has no receiver of webhooks');
      if (answers !== undefined) this.#receiver.answer(name, answers);
      return { url: `${this.#receiver.url}${name}` };
    },
    received: async ({ name }) => this.#receiver?.received.filter((one) => one.name === name) ?? [],
  };

  /** Each run has its own tenants, and every principal its own token. */
  async #tokenOf(by: string): Promise<string> {
    const known = this.#tokens.get(by);
    if (known !== undefined) return known;
    const [name, tenant = 'main'] = by.split('@');
    const body = { name, tenant: `${tenant}-${this.#run}` };
    const { token } = await this.#insist(() =>
      this.#api.request<{ token: string }>('POST', '/v1/sandbox/tokens', body),
    );
    this.#tokens.set(by, token);
    return token;
  }

  async #inject(fault: Fault): Promise<string> {
    return fault.fault.startsWith('receiver_') ? this.#receivers.arm(fault) : (await this.#createFault(fault)).id;
  }

  /** The fault may hit the gateway that carries the answer: its own id then shows whether it was armed. */
  #createFault(fault: Fault): Promise<SandboxFault> {
    this.#faults += 1;
    const named = { ...fault, id: fault.id ?? `${fault.fault}-${this.#run}-${this.#faults}` };
    let isRepeated = false;
    return this.#insist(async () => {
      const found = isRepeated ? await this.#api.faultIfThere(named.id) : undefined;
      isRepeated = true;
      return found ?? (await this.#api.createFault(named));
    });
  }

  /** Ends every fault; every process runs and is linked. */
  async #heal(): Promise<undefined> {
    this.#receivers.clear();
    await this.#insist(() => this.#api.clearFaults());
    for (const { process, state } of await this.#insist(() => this.#api.processes())) {
      if (state === 'paused') await this.#insist(() => this.#api.act(process, 'resume'));
      else if (state === 'down') await this.#insist(() => this.#api.act(process, 'restart'));
    }
    await this.#insist(async () => {
      const processes = await this.#api.processes();
      const { nodes_ready } = await this.#api.health();
      const away = processes.filter(({ state, linked }) => state !== 'running' || linked === false);
      if (away.length === 0 && nodes_ready === this.#options.nodes) return;
      const names = away.map(({ process }) => process).join(', ');
      throw new ApiError(0, 'not_healed', `${nodes_ready} nodes are ready; away: ${names || 'none'}`);
    });
    return undefined;
  }

  /**
   * Repeats while no answer comes, as long as the list of missing parts changes: the scenario may have stopped the gateway, and
   * the machine may be busy.
   */
  async #insist<T>(ask: () => Promise<T>): Promise<T> {
    let deadlineMs = performance.now() + apiPatienceMs;
    for (const said = new Set<string>(); ; ) {
      try {
        return await ask();
      } catch (error) {
        const mayRepeat = error instanceof ApiError && (error.status === 0 || error.status >= 500);
        if (!mayRepeat || performance.now() > deadlineMs) throw error;
        if (!said.has(error.message)) deadlineMs = performance.now() + apiPatienceMs;
        said.add(error.message);
      }
      await new Promise((resolve) => setTimeout(resolve, apiRepeatMs));
    }
  }

  #logged(view: Event): LoggedEvent {
    const event = loggedEvent(view);
    if (!this.#seenEvents.has(event.id)) {
      this.#seenEvents.add(event.id);
      this.#observe({ kind: 'logged', atMs: this.nowMs(), tenant: '', event, sequence: view.sequence });
    }
    return event;
  }

  #observe(observation: Observation): void {
    for (const checker of this.#options.checkers ?? []) {
      const text = checker.observe(observation);
      if (text !== undefined) this.#violations.push({ invariant: checker.invariant, text, atMs: observation.atMs });
    }
  }
}

/** The event in the time of this world instead of the recording's. */
function shifted(event: RunEvent, byMs: number): RunEvent {
  const atMs = Math.round(event.atMs + byMs);
  if (event.kind !== 'frame') return { ...event, atMs };
  return { ...event, atMs, arrivesMs: event.arrivesMs.map((arrivesMs) => Math.round(arrivesMs + byMs)) };
}
