/**
 * Records the calls of an embedded service's clients, over REST or gRPC, the answers of webhook receivers, and the orders of its
 * sandbox API, by the order of their beginnings. recorded-scenario.ts makes a scenario of it.
 *
 * It holds tokens and answers in memory, for as long as the service runs; the scenario contains none of their secrets.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { actorOf } from '../../gateway/api/principal.ts';
import type { Serve, ServeRequest, ServeResponse } from '../../gateway/serve/contract.ts';
import { plainRequest } from '../../gateway/serve/plain-request.ts';
import { Calls, type Done, type SigningCall } from '../../gateway/signing/signing-calls.ts';
import type { ControlMethod, SandboxControl } from '../../scenarios/faults/control.ts';
import { faultOf } from '../service/faulty-serve.ts';
import type { ReceiverNote } from './egress.ts';
import type {
  Recorded,
  RecordedAnswer,
  RecordedCall,
  RecordedFinal,
  RecordedPrincipal,
  RecordedRequest,
} from './recorded.ts';

/** A client of a scenario can have no more steps, with the pauses and waits between them. */
const recordedMax = 480;
const answerCharsMax = 65_536;
/** The resources that it reads when the recording ends. */
const finalsMax = 100;
const bodyBytesMax = 1_048_576;
const finalWithinMs = 1_000;
const steering: ReadonlySet<ControlMethod> = new Set<ControlMethod>([
  'faults.create',
  'faults.delete',
  'faults.reset',
  'processes.act',
  'clock.advance',
]);
/** Restarts the recording: the service is as after its start. */
const beginsAnew: ReadonlySet<ControlMethod> = new Set<ControlMethod>(['reset', 'snapshots.restore']);

export interface ServiceRecorderOptions {
  nowMs(): number;
  /** Whether scenarios support the operation of that route. */
  isSayable(method: string, route: string): boolean;
  /** Whether it is recorded as a call or as an order, by its route. */
  isRecordedElsewhere(route: string): boolean;
  /** The pattern of an operation's path, or the path of a signing call. */
  routeAt(method: string, path: string): string | undefined;
  /** A signing call by its path and body; undefined: it is no signing call. */
  callAt(path: string, body: string): SigningCall['request'] | undefined;
  /** The route that reads one resource that this route creates; undefined: there is none. */
  readerOf(method: string, route: string): string | undefined;
}

export class ServiceRecorder {
  readonly #options: ServiceRecorderOptions;
  #recorded: Recorded[] = [];
  #left = 0;
  /** Recorded things that no step can express, by name: their count. */
  #unsaid = new Map<string, number>();
  /** Requests to webhook receivers, by URL. */
  #receivers = new Map<string, ReceiverNote[]>();
  #finals: RecordedFinal[] = [];
  /** The last token of each actor. */
  readonly #tokens = new Map<string, string>();
  /** By token. */
  readonly #principals = new Map<string, RecordedPrincipal>();
  /** The call in a request over HTTP. */
  readonly #slots = new AsyncLocalStorage<{ call: RecordedCall | undefined }>();
  #serve: Serve | undefined;

  constructor(options: ServiceRecorderOptions) {
    this.#options = options;
  }

  get recorded(): readonly Recorded[] {
    return this.#recorded;
  }

  /** The number of records beyond the limit. */
  get left(): number {
    return this.#left;
  }

  get unsaid(): ReadonlyMap<string, number> {
    return this.#unsaid;
  }

  get receivers(): ReadonlyMap<string, readonly ReceiverNote[]> {
    return this.#receivers;
  }

  /** Records nothing after `finish`. */
  get finals(): readonly RecordedFinal[] {
    return this.#finals;
  }

  /** Tokens that the output must not contain. */
  get tokens(): readonly string[] {
    return [...this.#tokens.values()].map((value) => value.replace(/^Bearer /i, ''));
  }

  /** Drops everything recorded before. */
  begin(): void {
    this.#recorded = [];
    this.#left = 0;
    this.#unsaid = new Map();
    this.#receivers = new Map();
  }

  /** Records clients' calls on their way to a coordinator. */
  calls(inner: Calls): Calls {
    return new RecordedCalls(inner, (call) => {
      const nowMs = this.#options.nowMs();
      const one: RecordedCall = { kind: 'call', beganMs: nowMs, call, outcome: undefined, endedMs: nowMs };
      this.#add(one);
      const slot = this.#slots.getStore();
      if (slot !== undefined) slot.call = one;
      return (outcome) => {
        one.outcome = outcome;
        one.endedMs = this.#options.nowMs();
      };
    });
  }

  /** Records successful orders. */
  control(inner: SandboxControl): SandboxControl {
    return {
      ask: async (method, takes) => {
        const beganMs = this.#options.nowMs();
        const gives = await inner.ask(method, takes);
        const endedMs = this.#options.nowMs();
        if (steering.has(method)) {
          const { id: fault } = (gives as { readonly fault?: { readonly id: string } }).fault ?? {};
          this.#add({ kind: 'order', beganMs, method, takes, fault, endedMs });
        }
        if (method === 'snapshots.take' || method === 'faults.step') this.#note(method);
        if (beginsAnew.has(method)) this.begin();
        return gives;
      },
    };
  }

  /** Records requests of the wallet API as the API server sees them, and the outcome of all answers. */
  serve(inner: Serve): Serve {
    this.#serve = inner;
    return async (request) => {
      const beganMs = this.#options.nowMs();
      const slot: { call: RecordedCall | undefined } = { call: undefined };
      let body: string | undefined;
      let isOver = false;
      const read = async (bytesMax: number): Promise<Uint8Array> => {
        const bytes = await request.body(bytesMax);
        body = Buffer.from(bytes).toString('utf8');
        return bytes;
      };
      const end = (response: ServeResponse | undefined): void => {
        if (isOver) return;
        isOver = true;
        this.#request(request, beganMs, body, response);
      };
      request.onGone(() => end(undefined));
      const { method, target, httpVersion, headers, rawHeaders, entry } = request;
      const response = await this.#slots.run(slot, () =>
        inner({
          ...{ method, target, httpVersion, headers, rawHeaders, entry },
          body: read,
          onGone: (listener) => request.onGone(listener),
        }),
      );
      const fault = faultOf(response);
      if (fault === 'refused') {
        await read(bodyBytesMax);
        this.#refused(request, beganMs, body ?? '', response);
      } else {
        if (fault === 'severed' && slot.call !== undefined) slot.call.outcome = undefined;
        end(response);
      }
      return response;
    };
  }

  /** A request to a webhook receiver. */
  delivered(url: string, note: ReceiverNote): void {
    const notes = this.#receivers.get(url) ?? [];
    if (notes.length < recordedMax) notes.push(note);
    this.#receivers.set(url, notes);
  }

  /** Reads the final state of the clients' resources, before the service stops. */
  async finish(): Promise<void> {
    const reads = new Map<string, { readonly principal: RecordedPrincipal; readonly route: string }>();
    for (const one of this.#recorded) {
      if (one.kind !== 'request') continue;
      const { method, route, target, principal, answer } = one;
      const reader = this.#options.readerOf(method, route);
      const id = answer === undefined || answer.status >= 300 ? undefined : idIn(answer.body);
      if (reader === undefined || id === undefined) continue;
      reads.set(`${target.split('?', 1)[0]}/${id}`, { principal, route: reader });
    }
    const all = [...reads].slice(0, finalsMax).map(async ([target, { principal, route }]) => {
      const response = await this.#read(target, principal);
      if (response?.status !== 200 || typeof response.body !== 'string') return [];
      return [{ principal, route, target, body: response.body }];
    });
    this.#finals = (await Promise.all(all)).flat();
  }

  async #read(target: string, principal: RecordedPrincipal): Promise<ServeResponse | undefined> {
    const authorization = this.#tokens.get(nameOf(principal));
    if (this.#serve === undefined || authorization === undefined) return undefined;
    const request = plainRequest({ method: 'GET', target, headers: { authorization } });
    let giveUp = (): void => undefined;
    const late = new Promise<undefined>((resolve) => {
      const timer = setTimeout(() => resolve(undefined), finalWithinMs);
      giveUp = () => clearTimeout(timer);
    });
    try {
      return await Promise.race([this.#serve(request), late]);
    } finally {
      giveUp();
      request.leave();
    }
  }

  #request(request: ServeRequest, beganMs: number, body: string | undefined, response: ServeResponse | undefined) {
    const { method, entry } = request;
    const route = entry?.route;
    if (route === undefined || this.#options.isRecordedElsewhere(route)) return;
    if (entry?.principal === undefined || !this.#options.isSayable(method, route)) {
      this.#note(`${method} ${route}${response === undefined ? '' : ` (${response.status})`}`);
      return;
    }
    const principal = { tenant: entry.principal.tenant, actor: actorOf(entry.principal) };
    this.#put(request, principal, route, beganMs, body, response);
  }

  /** An API fault has refused it: no gateway has seen it. */
  #refused(request: ServeRequest, beganMs: number, body: string, response: ServeResponse): void {
    const { method, target, headers } = request;
    const [path = ''] = target.split('?', 1);
    const route = this.#options.routeAt(method, path);
    const principal = this.#principals.get(headers.authorization ?? '');
    const call = this.#options.callAt(path, body);
    if (principal === undefined || route === undefined) this.#note(`${method} ${path} (${response.status})`);
    else if (call === undefined) this.#put(request, principal, route, beganMs, body, response);
    else {
      const endedMs = this.#options.nowMs();
      const made = { request: call, tenant: principal.tenant, correlationId: '', traceparent: '' };
      this.#add({ kind: 'call', beganMs, call: made, outcome: undefined, endedMs });
    }
  }

  #put(
    { method, target, headers }: ServeRequest,
    principal: RecordedPrincipal,
    route: string,
    beganMs: number,
    body: string | undefined,
    response: ServeResponse | undefined,
  ): void {
    if (typeof headers.authorization === 'string') {
      this.#tokens.set(nameOf(principal), headers.authorization);
      this.#principals.set(headers.authorization, principal);
    }
    const key = headers['idempotency-key'];
    const isLost = response === undefined || faultOf(response) === 'severed';
    const one: RecordedRequest = {
      ...{ kind: 'request', beganMs, method, route, target, principal, body },
      key: typeof key === 'string' ? key : undefined,
      answer: isLost ? undefined : answerOf(response),
      endedMs: this.#options.nowMs(),
    };
    const before = method === 'GET' ? this.#sameRead(one) : undefined;
    if (before === undefined) this.#add(one);
    else {
      before.answer = one.answer;
      before.endedMs = one.endedMs;
    }
  }

  /** A client polls until a condition holds: the last answer counts, as long as only reads are between the two. */
  #sameRead({ target, principal }: RecordedRequest): RecordedRequest | undefined {
    for (let index = this.#recorded.length - 1; index >= 0; index -= 1) {
      const one = this.#recorded[index]!;
      if (one.kind !== 'request' || one.method !== 'GET') return undefined;
      if (one.target === target && nameOf(one.principal) === nameOf(principal)) return one;
    }
    return undefined;
  }

  #note(what: string): void {
    this.#unsaid.set(what, (this.#unsaid.get(what) ?? 0) + 1);
  }

  #add(one: Recorded): void {
    if (this.#recorded.length < recordedMax) this.#recorded.push(one);
    else this.#left += 1;
  }
}

function nameOf({ tenant, actor }: RecordedPrincipal): string {
  return `${tenant} ${actor}`;
}

function answerOf({ status, headers, body = '' }: ServeResponse): RecordedAnswer {
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
  return {
    status,
    body: text.length <= answerCharsMax ? text : '',
    isReplayed: headers['idempotent-replayed'] === 'true',
  };
}

function idIn(body: string): string | undefined {
  try {
    const { id } = JSON.parse(body) as { readonly id?: unknown };
    return typeof id === 'string' ? id : undefined;
  } catch {
    return undefined;
  }
}

class RecordedCalls extends Calls {
  readonly #inner: Calls;
  readonly #began: (call: SigningCall) => Done;

  constructor(inner: Calls, began: (call: SigningCall) => Done) {
    super();
    this.#inner = inner;
    this.#began = began;
  }

  get inFlight(): number {
    return this.#inner.inFlight;
  }

  start(call: SigningCall, done: Done): () => void {
    const ended = this.#began(call);
    return this.#inner.start(call, (outcome) => {
      ended(outcome);
      done(outcome);
    });
  }
}
