/**
 * Makes a scenario from the recording of an embedded service: its clients' requests and answers, and its faults. It runs in
 * virtual time with the same outcome, as long as the outcome depends on the order of events and not on the speed of this machine.
 *
 * Overlapping work belongs to several clients, each of which waits for everything that had ended before its step began. The file
 * omits everything that no step can express, and names it in a comment.
 */
import type { KeyScheme } from '../../proto/key-schemes.ts';
import type { CheckedScenario, ScenarioStep } from '../../scenarios/runner/format.ts';
import { loadScenario } from '../../scenarios/runner/load.ts';
import { toYaml } from '../../scenarios/runner/to-yaml.ts';
import { YamlError } from '../../scenarios/runner/yaml-file.ts';
import type { ReceiverNote } from './egress.ts';
import type { Recorded, RecordedFinal } from './recorded.ts';
import { RecordedCalls } from './recorded-calls.ts';
import { RecordedOrders } from './recorded-orders.ts';
import { RecordedRequests } from './recorded-requests.ts';
import { Unwritable } from './recorded-values.ts';

export interface RecordedService {
  readonly recorded: readonly Recorded[];
  /** Calls, requests and orders beyond the limit. */
  readonly left: number;
  /** Recorded things that no step can express, by name: their count. */
  readonly unsaid: ReadonlyMap<string, number>;
  /** The answers of receivers, by URL. */
  readonly receivers: ReadonlyMap<string, readonly ReceiverNote[]>;
  readonly finals: readonly RecordedFinal[];
  /** Texts that the file must not contain. */
  readonly tokens: readonly string[];
  readonly name: string;
  readonly clusters: number;
  /** Of each cluster. */
  readonly nodes: number;
  readonly partialTimeoutMs: number;
  readonly nodesWaitMs: number;
  /** Keys that existed at the start, by session. */
  readonly readyMade: Readonly<Record<string, KeyScheme>>;
  /** Of a search: its steps take any answer, and the cluster has these settings too. */
  readonly searched?: Pick<CheckedScenario, 'about'> & { readonly cluster: Partial<CheckedScenario['cluster']> };
}

/** Shorter pauses between two steps are omitted. */
const pauseLeastMs = 20;
/** The minimum time of a wait for another client's step. */
const awaitLeastMs = 30_000;
const firstClient = 'client';
/** Rounds of omitting steps that do not load. */
const roundsMax = 50;

/** The text of the file; it loads as a scenario. undefined: nothing was recorded that a step can express. */
export function recordedScenario(service: RecordedService): string | undefined {
  return new Writer(service).text();
}

interface Placed {
  readonly name: string;
  readonly endedMs: number;
  /** The number of steps of each client that end before it begins. */
  readonly clock: readonly number[];
}

/** A client that does one thing after another. */
interface Lane {
  readonly steps: ScenarioStep[];
  readonly placed: Placed[];
  /** The number of ended steps of each client, as far as it knows. */
  clock: number[];
  /** The end of its last step. */
  freeMs: number;
}

class Writer {
  readonly #service: RecordedService;
  readonly #lanes: Lane[] = [];
  readonly #calls: RecordedCalls;
  readonly #orders: RecordedOrders;
  readonly #requests: RecordedRequests;
  /** The omitted things, by name: their count. */
  readonly #omitted: Map<string, number>;
  /** The omitted steps. */
  readonly #gone = new Set<string>();
  #steps = 0;

  constructor(service: RecordedService) {
    this.#service = service;
    const { recorded, receivers, tokens: secrets, readyMade, unsaid } = service;
    const name = (kind: string) => this.#name(kind);
    this.#omitted = new Map(unsaid);
    this.#calls = new RecordedCalls(readyMade, name);
    this.#orders = new RecordedOrders(recorded, (id) => this.#calls.sessionOf(id));
    const requests = recorded.filter((one) => one.kind === 'request');
    const signingTenant = recorded.find((one) => one.kind === 'call')?.call.tenant;
    const takesAny = service.searched !== undefined;
    this.#requests = new RecordedRequests({ requests, receivers, secrets, signingTenant, takesAny, name });
  }

  text(): string | undefined {
    const { recorded, left, finals } = this.#service;
    const inOrder = [...recorded].sort((a, b) => a.beganMs - b.beganMs);
    const beganMs = inOrder[0]?.beganMs ?? 0;
    for (const one of inOrder) {
      try {
        const draft = this.#draft(one);
        if (draft === undefined) this.#omit(whatWas(one));
        else if (draft !== 'nothing') this.#put(draft, one, beganMs);
      } catch (error) {
        if (!(error instanceof Unwritable)) throw error;
        this.#omit(`${whatWas(one)}: ${error.message}`);
      }
    }
    const lastMs = Math.max(beganMs, ...this.#lanes.map(({ freeMs }) => freeMs));
    for (const step of this.#requests.finals(finals)) this.#put(step, { beganMs: lastMs, endedMs: lastMs }, beganMs);
    if (left > 0) this.#omit('what came after them', left);
    return this.#whatLoads();
  }

  #draft(one: Recorded): object | 'nothing' | undefined {
    if (one.kind === 'call') return this.#calls.step(one);
    return one.kind === 'order' ? this.#orders.step(one) : this.#requests.step(one);
  }

  // --- order in time -----------------------------------------------------------------------------------------------

  #put(draft: object, { beganMs, endedMs }: Pick<Recorded, 'beganMs' | 'endedMs'>, startMs: number): void {
    let at = this.#lanes.findIndex(({ freeMs }) => freeMs <= beganMs);
    if (at === -1) {
      this.#lanes.push({ steps: [], placed: [], clock: [], freeMs: startMs });
      at = this.#lanes.length - 1;
    }
    const lane = this.#lanes[at]!;
    const sinceMs = this.#awaitOthers(lane, at, beganMs);
    const pauseMs = Math.round(beganMs - sinceMs);
    if (pauseMs >= pauseLeastMs) lane.steps.push({ step: this.#name('pause'), wait: { ms: pauseMs } });
    const kind = 'call' in draft ? String(draft.call).replaceAll('_', '-') : Object.keys(draft)[0]!.replace('_ms', '');
    const step = 'step' in draft ? String(draft.step) : this.#name(kind);
    lane.steps.push({ step, ...draft } as ScenarioStep);
    lane.placed.push({ name: step, endedMs, clock: [...lane.clock] });
    lane.clock[at] = lane.placed.length;
    lane.freeMs = endedMs;
  }

  /** Waits for the earlier steps of other clients; returns the end of the last of them. */
  #awaitOthers(lane: Lane, at: number, beganMs: number): number {
    let sinceMs = lane.freeMs;
    const others = this.#lanes.flatMap((other, index) => {
      const count = index === at ? 0 : other.placed.findLastIndex(({ endedMs }) => endedMs <= beganMs) + 1;
      return count === 0 ? [] : [{ index, count, last: other.placed[count - 1]! }];
    });
    for (const { index, count, last } of others.sort((a, b) => b.last.endedMs - a.last.endedMs)) {
      if ((lane.clock[index] ?? 0) >= count) continue;
      const withinMs = Math.round(2 * (last.endedMs - lane.freeMs));
      const wait = { ended: last.name, ...(withinMs > awaitLeastMs && { within_ms: withinMs }) };
      lane.steps.push({ step: this.#name('await'), wait });
      for (const [other, ended] of last.clock.entries()) {
        lane.clock[other] = Math.max(lane.clock[other] ?? 0, ended ?? 0);
      }
      lane.clock[index] = count;
      sinceMs = Math.max(sinceMs, last.endedMs);
    }
    return sinceMs;
  }

  #name(kind: string): string {
    this.#steps += 1;
    return `${kind}-${this.#steps}`;
  }

  // --- the file ----------------------------------------------------------------------------------------------------

  /** Omits steps that a scenario may not have; also steps that refer to an omitted one. */
  #whatLoads(): string | undefined {
    for (let round = 0; round < roundsMax; round += 1) {
      if (this.#lanes.every(({ steps }) => steps.length === 0)) return undefined;
      const inBoth = this.#written(['simulated', 'live']);
      if (problemsOf(inBoth, this.#file).length === 0) return inBoth;
      const text = this.#written(['simulated']);
      const problems = problemsOf(text, this.#file);
      if (problems.length === 0) return text;
      for (const { field, message } of problems) this.#leaveOut(field, message);
      for (const lane of this.#lanes)
        lane.steps.splice(0, Infinity, ...lane.steps.filter((step) => !this.#gone.has(step.step)));
    }
    throw new Error('what was recorded makes no scenario');
  }

  /** `field`: e.g. clients.client-2[4].body. */
  #leaveOut(field: string, message: string): void {
    const [, client = firstClient, index = ''] = /^(?:clients[.]([a-z0-9-]+)|steps)\[(\d+)\]/.exec(field) ?? [];
    const steps = this.#clients()[client];
    const step = steps?.[Number(index)];
    if (index === '' || step === undefined) throw new Error(`what was recorded makes no scenario: ${field} ${message}`);
    if (this.#gone.has(step.step)) return;
    this.#gone.add(step.step);
    if (!('wait' in step))
      this.#omit(
        `${'api' in step ? step.api : 'call' in step ? step.call : 'inject' in step ? step.inject.fault : step.step}: ${message}`,
      );
  }

  get #file(): string {
    return `${this.#service.name}.yaml`;
  }

  #clients(): Readonly<Record<string, readonly ScenarioStep[]>> {
    const keys = this.#calls.keys();
    const [first, ...others] = this.#lanes;
    const lists = [[...keys, ...(first?.steps ?? [])], ...others.map(({ steps }) => this.#afterKeys(keys, steps))];
    const named = lists.map(
      (steps, index) => [index === 0 ? firstClient : `${firstClient}-${index + 1}`, steps] as const,
    );
    return Object.fromEntries(named.filter(([, steps]) => steps.length > 0));
  }

  /** Other clients wait for the ready-made keys, which the first one makes. */
  #afterKeys(keys: readonly ScenarioStep[], steps: readonly ScenarioStep[]): ScenarioStep[] {
    const waits = keys.map(
      ({ step }): ScenarioStep => ({ step: `${step}-made-${steps[0]?.step}`, wait: { ended: step } }),
    );
    return [...(steps.length === 0 ? [] : waits), ...steps];
  }

  #written(worlds: CheckedScenario['worlds']): string {
    const { name, clusters, nodes, partialTimeoutMs, nodesWaitMs, searched } = this.#service;
    const recorded = 'Recorded from an embedded service: what its clients did, and what went wrong.';
    const readyMade = clusters > 1 ? this.#calls.readyMade() : [];
    const scenario: CheckedScenario = {
      scenario: name,
      about: searched?.about ?? recorded,
      worlds,
      cluster: {
        ...{ nodes, seed: name, partial_timeout_ms: partialTimeoutMs, nodes_wait_ms: nodesWaitMs },
        client_dealers: true,
        ...(clusters > 1 && { clusters }),
        ...(readyMade.length > 0 && { ready_made: readyMade }),
        ...searched?.cluster,
      },
      faults: [],
      clients: this.#clients(),
      expect: this.#requests.deliveries().filter(({ webhook }) => !this.#gone.has(webhook)),
    };
    const notes = [...this.#omitted].map(([what, times]) => `  ${what}${times === 1 ? '' : ` (${times} times)`}`);
    return toYaml(scenario, { before: notes.length === 0 ? [] : ['Not in it, because no step says it:', ...notes] });
  }

  #omit(what: string, times = 1): void {
    const said = this.#requests.values.tells(what) ? 'a request with a secret' : what;
    this.#omitted.set(said, (this.#omitted.get(said) ?? 0) + times);
  }
}

function whatWas(one: Recorded): string {
  if (one.kind === 'call') return one.call.request.case;
  if (one.kind === 'request') return `${one.method} ${one.route}`;
  if (one.method !== 'faults.create') return one.method;
  return `the fault ${(one.takes as { readonly fault: { readonly fault: string } }).fault.fault}`;
}

function problemsOf(text: string, file: string): YamlError['problems'] {
  try {
    loadScenario(text, { file });
    return [];
  } catch (error) {
    if (error instanceof YamlError) return error.problems;
    throw error;
  }
}
