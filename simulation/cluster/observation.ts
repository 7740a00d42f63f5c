/**
 * The checkers' view of a run: every event of the simulated world, at its moment. Unlike recordings for reports, observations
 * hold the objects themselves, secrets included; checkers do not pass them on.
 */

import type { CoordinatorRecord, CoordinatorWrite } from '../../coordinator/contract/messages.ts';
import type { ActorEvent, Address, WriteOutcome } from '../../core/actors/contract.ts';
import type { LoggedEvent } from '../../core/redis/event-log.ts';
import type { NodeRecord, NodeWrite } from '../../nodes/records/records.ts';
import type { CallCase, WireEnvelope } from '../../proto/wire.ts';
import type { ProcessName } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import type { Fault, FaultKind } from '../../scenarios/faults/vocabulary/fault.ts';
import type { VendorOrder } from '../../wallets/providers/vendor/public.ts';
import type { GatewayFailure, SimCaller } from './client.ts';
import type { FrameOutcome } from './network.ts';

/** A call of a gateway. `request`: decoded. */
interface ObservedCall {
  readonly atMs: number;
  readonly tenant: string;
  readonly callId: bigint;
  readonly method: CallCase;
  readonly walletService: boolean;
  /** The terms of the wallet that a client's call names. */
  readonly walletTerms?: SimCaller['walletTerms'];
  /** For the making of a key: the only scheme that it will sign with. */
  readonly keyScheme?: SimCaller['keyScheme'];
  readonly request: unknown;
}

export type CallEvent =
  /** A client's call left the gateway. */
  | { readonly kind: 'called' }
  /** Its answer is in a frame that leaves the coordinator. It may still be lost. `response`: decoded. */
  | { readonly kind: 'promised'; readonly response: unknown }
  /** The client has its answer. */
  | { readonly kind: 'answered'; readonly response: unknown }
  | { readonly kind: 'failed'; readonly error: GatewayFailure };

export type Observation =
  | (ObservedCall & CallEvent)
  /**
   * A frame leaves its sender. `touched`: a fault changed it; its content is then not the sender's. `decided`: while a fault is
   * armed, with the first that leaves instead of `sent`.
   */
  | {
      readonly kind: 'frame';
      readonly atMs: number;
      readonly envelope: WireEnvelope;
      readonly touched: boolean;
      readonly decided?: Pick<FrameOutcome, 'arrivals' | 'faults'> & { readonly sent: WireEnvelope };
    }
  | {
      readonly kind: 'emitted';
      readonly atMs: number;
      readonly process: ProcessName;
      readonly address: Address;
      readonly event: ActorEvent;
    }
  | {
      readonly kind: 'written';
      readonly atMs: number;
      readonly process: 'coordinator';
      /** Of the coordinator that wrote it: an earlier one may still run. */
      readonly boot: string;
      readonly write: CoordinatorWrite;
      readonly outcome: WriteOutcome<CoordinatorRecord>['kind'];
    }
  | {
      readonly kind: 'written';
      readonly atMs: number;
      readonly process: `node/${number}`;
      readonly write: NodeWrite;
      readonly outcome: WriteOutcome<NodeRecord>['kind'];
    }
  /** An event of a tenant's log became durable. */
  | {
      readonly kind: 'logged';
      readonly atMs: number;
      readonly tenant: string;
      readonly event: LoggedEvent;
      readonly sequence: number;
    }
  /** The vendor's book has a new order, or an order in another state. */
  | { readonly kind: 'vendor'; readonly atMs: number; readonly order: VendorOrder }
  /** The PKCS#11 token of a node did not do what it was asked. `fault`: a code of the keystore's, HSM_… */
  | { readonly kind: 'token'; readonly atMs: number; readonly process: `node/${number}`; readonly fault: string }
  /** A webhook receiver has acknowledged an event. */
  | { readonly kind: 'delivered'; readonly atMs: number; readonly tenant: string; readonly eventId: string }
  | {
      readonly kind: 'process';
      readonly atMs: number;
      readonly process: ProcessName;
      readonly what: 'up' | 'down' | 'paused' | 'resumed';
      readonly boot: string;
      /** With `down`: its store is lost too. */
      readonly storeLost?: boolean;
    }
  /** The link of a node or the gateway to the coordinator. `boot`: with `linkUp`, of the process at its other end. */
  | {
      readonly kind: 'link';
      readonly atMs: number;
      readonly peer: ProcessName;
      readonly what: 'linkUp' | 'linkDown';
      readonly boot: string;
    }
  /** A clock was set: its offset from virtual time. */
  | { readonly kind: 'clock'; readonly atMs: number; readonly process: ProcessName; readonly offsetMs: number }
  /** `heal` ended every fault and started every process. */
  | { readonly kind: 'healed'; readonly atMs: number }
  /** An actor threw. */
  | {
      readonly kind: 'bug';
      readonly atMs: number;
      readonly process: ProcessName;
      readonly address: Address;
      readonly text: string;
    }
  | {
      readonly kind: 'fault';
      readonly atMs: number;
      readonly id: string;
      readonly fault: FaultKind;
      readonly targets: readonly ProcessName[];
      readonly what: 'armed' | 'fired' | 'ended';
      /** With `armed`. */
      readonly definition?: Fault;
    };

export interface Checker {
  readonly invariant: string;
  /** Checks one observation; returns a text about a violation. */
  observe(observation: Observation): string | undefined;
  /** The run is over, its faults healed and its clients served: returns an outcome that is still missing. */
  finish?(): string | undefined;
}
