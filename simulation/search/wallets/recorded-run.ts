/** What a run did, as its scenario file says it: its callers' requests, its faults, and by name what no step can say. */
import type { Fault } from '../../../scenarios/faults/vocabulary/fault.ts';
import { operations } from '../../../scenarios/runner/generated-operations.ts';
import type { ClientAnswer } from '../../service/client.ts';
import type { SentRequest } from './answer-invariants.ts';

interface RunRequest {
  readonly kind: 'request';
  readonly beganMs: number;
  readonly method: string;
  readonly route: string;
  readonly target: string;
  readonly principal: { readonly tenant: string; readonly actor: string };
  readonly key: string | undefined;
  readonly body: string | undefined;
  answer: { readonly status: number; readonly body: string; readonly isReplayed: boolean } | undefined;
  endedMs: number;
}

interface RunOrder<M extends string, T> {
  readonly kind: 'order';
  readonly beganMs: number;
  readonly endedMs: number;
  readonly method: M;
  readonly takes: T;
  readonly fault: undefined;
}

/** By method and pattern of path. */
const sayable = new Set(Object.values(operations).map(({ method, path }) => `${method} ${path}`));

export class RunRecording {
  readonly recorded: (
    | RunRequest
    | RunOrder<'faults.create', { readonly fault: Fault; readonly expiresInMs: number }>
    | RunOrder<'faults.reset', Record<string, never>>
  )[] = [];
  /** So many of them are of its clients; the others are of its end. */
  ofClients = 0;
  /** How often, by name. */
  readonly unsaid = new Map<string, number>();

  /** `route`: undefined: the scenario has no such call. The result gets the answer. */
  request(
    { tenant, actor, method, target, body, key }: SentRequest,
    route: string | undefined,
    nowMs: () => number,
  ): (answer: ClientAnswer) => void {
    const beganMs = nowMs();
    if (route === undefined || !sayable.has(`${method} ${route}`)) {
      this.omit(`${method} ${target.split('?')[0]!.replace(/_[0-9a-f-]{36}/g, '_…')}`);
      return () => undefined;
    }
    const one: RunRequest = {
      ...{ kind: 'request', beganMs, method, route, target, principal: { tenant, actor }, key },
      ...{ body: body === undefined ? undefined : JSON.stringify(body), answer: undefined, endedMs: beganMs },
    };
    this.recorded.push(one);
    return ({ status, body: answered, headers }) => {
      const isReplayed = headers['idempotent-replayed'] === 'true';
      one.answer = { status, body: answered === undefined ? '' : JSON.stringify(answered), isReplayed };
      one.endedMs = nowMs();
    };
  }

  armed(faults: readonly Fault[], nowMs: number): void {
    const order = { kind: 'order', beganMs: nowMs, endedMs: nowMs, method: 'faults.create', fault: undefined } as const;
    for (const fault of faults) this.recorded.push({ ...order, takes: { fault, expiresInMs: 0 } });
  }

  healed(nowMs: number): void {
    const order = { kind: 'order', beganMs: nowMs, endedMs: nowMs, method: 'faults.reset', fault: undefined } as const;
    this.recorded.push({ ...order, takes: {} });
  }

  omit(what: string): void {
    this.unsaid.set(what, (this.unsaid.get(what) ?? 0) + 1);
  }
}
