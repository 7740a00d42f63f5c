/**
 * Processes that are no part of a cluster but talk to its coordinator or share its Redis: gateways, workers, receivers. They start
 * and die as all processes do. The cluster has a small gateway of its own, and with `receiver` a small worker; those of another
 * room, e.g. gateways that run the wallet API, take their places.
 */

import type { CoordinatorRecord, CoordinatorWrite } from '../../coordinator/contract/messages.ts';
import type { Address, Envelope } from '../../core/actors/contract.ts';
import type { WireMessage } from '../../proto/wire.ts';
import type { ProcessName } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import type { WorldOrder } from './fault-service.ts';
import type { Life } from './processes.ts';
import type { CalledStore, RedisReach } from './store-side.ts';

export interface ExternalProcess {
  readonly name: ProcessName;
  readonly life: Life;
  /** Its end of the link to this cluster's coordinator; undefined: it has no links. */
  readonly link?: (cluster: number) => ExternalProcessLink;
}

export interface ExternalProcessLink {
  /** Of its present start: new for every start, so that an answer to an earlier one finds no receiver. */
  address(): Address;
  arrived(message: WireMessage): void;
  /** Its link came up, or was lost. */
  linked(up: boolean): void;
}

/** The processes of another room, and what comes with them. */
export interface ExternalProcesses {
  readonly all: readonly ExternalProcess[];
  /** The store of a cluster's records, by the fence of its coordinator's start; by default in memory. */
  readonly sessions?: (
    cluster: number,
    fence: number,
    of: { readonly clusterId: string; readonly resumeKey: Uint8Array },
  ) => CalledStore<CoordinatorWrite, CoordinatorRecord>;
  /** They reach Redis while the coordinators do. */
  readonly redis: RedisReach;
  /** Performs the fault engine's orders that concern them; returns whether it did. */
  readonly perform: (order: WorldOrder) => boolean;
}

/** Their ends of the links of one cluster. A process may have several ends; the first is its own. */
export class ExternalEnds {
  readonly #ends: readonly (readonly [ProcessName, ExternalProcessLink])[];

  constructor(processes: readonly ExternalProcess[], cluster: number) {
    this.#ends = processes.flatMap(({ name, link }) => (link === undefined ? [] : [[name, link(cluster)] as const]));
  }

  get names(): readonly ProcessName[] {
    return this.#ends.map(([name]) => name);
  }

  of(name: ProcessName): readonly ExternalProcessLink[] {
    return this.#ends.flatMap(([own, link]) => (own === name ? [link] : []));
  }

  /** The process that has this address now. */
  nameAt(address: Address): ProcessName | undefined {
    return this.#ends.find(([, link]) => link.address() === address)?.[0];
  }

  /** A frame for an earlier start of the process finds no receiver. */
  arrived(name: ProcessName, { to, message }: Pick<Envelope<WireMessage>, 'to' | 'message'>): void {
    this.of(name)
      .find((link) => link.address() === to)
      ?.arrived(message);
  }
}
