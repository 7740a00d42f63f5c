/**
 * One gRPC call of a client on a new connection: the way to a gateway, its handling, and the answer on the way back. The client
 * gives up at its deadline, and the gateway learns of it; a gateway that dies cuts the connection.
 */
import { status } from '@grpc/grpc-js';
import type { SigningMethod } from '../../gateway/api/signing-methods.ts';
import type { RpcRequest } from '../../gateway/grpc/serve-rpc.ts';
import { grpcRefusalOf } from '../../scenarios/faults/api-fault-answers.ts';
import type { ApiServerVerdict } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import type { ApiServer, ExchangeHost } from './exchange.ts';

export interface RpcCall {
  readonly method: SigningMethod;
  /** The encoded request. */
  readonly message: Uint8Array;
  readonly metadata: Readonly<Record<string, string>>;
  /** The time after which the client gives up; never by default. */
  readonly deadlineMs?: number | undefined;
}

/** The client's result. `initial`: the metadata that came before the end; empty: none did. */
export type RpcAnswer = { readonly initial: Readonly<Record<string, string>> } & (
  | { readonly code: status.OK; readonly message: Uint8Array }
  | {
      readonly code: Exclude<status, status.OK>;
      readonly details: string;
      /** Of google.rpc.ErrorInfo; empty: the call ended below the service. */
      readonly reason: string;
      readonly retryAfterS?: number;
    }
);

export interface RpcHost extends Omit<ExchangeHost, 'faults' | 'loop'> {
  verdict(rpc: string): ApiServerVerdict | undefined;
}

const wayMs = 1;

/** Resolves once the client has its answer, or knows that it gets none. */
export function callRpc(host: RpcHost, door: ApiServer, call: RpcCall): Promise<RpcAnswer> {
  return new Promise((resolve) => new RpcExchange(host, door, call, resolve).start());
}

class RpcExchange {
  readonly #host: RpcHost;
  readonly #door: ApiServer;
  readonly #call: RpcCall;
  readonly #verdict: ApiServerVerdict | undefined;
  readonly #resolve: (answer: RpcAnswer) => void;
  #isOver = false;
  #isCancelled = false;
  #leave: () => void = () => undefined;

  constructor(host: RpcHost, door: ApiServer, call: RpcCall, resolve: (answer: RpcAnswer) => void) {
    this.#host = host;
    this.#door = door;
    this.#call = call;
    this.#resolve = resolve;
    this.#verdict = host.verdict(call.method.name);
  }

  start(): void {
    const { time, note } = this.#host;
    const { method, deadlineMs } = this.#call;
    note(() => `client -> ${this.#door.name} ${method.grpcPath}`);
    if (deadlineMs !== undefined) time.after(deadlineMs, () => this.#giveUp());
    time.after(wayMs, () => this.#arrive());
  }

  #giveUp(): void {
    if (this.#isOver) return;
    this.#end(ended(status.DEADLINE_EXCEEDED, 'the deadline of the call is over'));
    const { life, callers } = this.#door;
    this.#host.time.after(wayMs, () => {
      callers.delete(this.#cut);
      life?.enter(() => {
        this.#isCancelled = true;
        this.#leave();
      });
    });
  }

  #arrive(): void {
    const { life, gateway, callers } = this.#door;
    if (this.#isOver) return;
    if (life === undefined || gateway === undefined) {
      this.#back(ended(status.UNAVAILABLE, 'no gateway takes the connection'));
      return;
    }
    if (this.#verdict?.fate === 'refused') {
      const { retryAfterS } = this.#verdict;
      const { code, details } = grpcRefusalOf(this.#verdict);
      const refusal = ended(code as Exclude<status, status.OK>, details);
      this.#back({ ...refusal, ...(retryAfterS !== undefined && { retryAfterS }) });
      return;
    }
    callers.add(this.#cut);
    let initial: Readonly<Record<string, string>> = {};
    life.enter(() =>
      gateway.rpc(this.#request(), {
        initial: (metadata) => {
          initial = metadata;
        },
        answered: (message) => this.#answered({ initial, code: status.OK, message }),
        failed: ({ entry, message, retryAfterS: after }) =>
          this.#answered({
            ...ended(entry.grpc as Exclude<status, status.OK>, message, entry.reason),
            initial,
            ...(after !== undefined && { retryAfterS: after }),
          }),
      }),
    );
  }

  #request(): RpcRequest {
    const { method, message, metadata, deadlineMs } = this.#call;
    const exchange = this;
    return {
      ...{ method, message, entry: undefined },
      metadata: (key) => metadata[key],
      // The remaining time goes with the call, as grpc-timeout.
      leftMs: deadlineMs === undefined ? Number.POSITIVE_INFINITY : Math.max(0, deadlineMs - wayMs),
      get isCancelled() {
        return exchange.#isCancelled;
      },
      onCancelled: (leave) => {
        exchange.#leave = leave;
      },
    };
  }

  #answered(answer: RpcAnswer): void {
    if (!this.#door.callers.delete(this.#cut)) return;
    const fate = this.#verdict?.fate;
    this.#back(fate === 'lost' || fate === 'cut' ? ended(status.UNAVAILABLE, 'the connection was lost') : answer);
  }

  /** The gateway has died. */
  readonly #cut = (): void => {
    if (this.#door.callers.delete(this.#cut)) this.#back(ended(status.UNAVAILABLE, 'the connection was lost'));
  };

  #back(answer: RpcAnswer): void {
    this.#host.time.after(wayMs + (this.#verdict?.delayMs ?? 0), () => {
      if (!this.#isOver) this.#end(answer);
    });
  }

  #end(answer: RpcAnswer): void {
    this.#isOver = true;
    this.#host.note(() => `client <- ${this.#door.name} ${status[answer.code]}`);
    this.#host.time.woken();
    this.#resolve(answer);
  }
}

function ended(code: Exclude<status, status.OK>, details: string, reason = '') {
  return { initial: {}, code, details, reason } as const;
}
