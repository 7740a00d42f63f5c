/**
 * Processes of another room in the simulated world, e.g. gateways that run the wallet API. They live and die as all
 * processes do, and those with a link talk with the coordinator as gateways.
 */

import type { Address, Envelope, RandomBytes, Trace, UndeliveredReason } from '../actors/contract.ts';
import type { CoordinatorRecord, CoordinatorWrite } from '../coordinator/contract/messages.ts';
import type {
  DoorRequest,
  DoorVerdict,
  Order,
  PortCallMade,
  PortVerdict,
  ProcessName,
} from '../faults/vocabulary/engine-contract.ts';
import type { Roster } from '../proto/roster.ts';
import type { WireMessage } from '../proto/wire.ts';
import type { WorldOrder } from './fault-service.ts';
import type { Life, Processes } from './processes.ts';
import type { CalledStore } from './store-side.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface Guest {
  readonly name: ProcessName;
  readonly life: Life;
  /** undefined: it has no link to the coordinator. */
  readonly link?: GuestLink;
}

export interface GuestLink {
  /** Of its present start: another for every start, so that an answer to an earlier one finds no receiver. */
  address(): Address;
  arrived(message: WireMessage): void;
  /** Its link came up, or was lost. */
  linked(up: boolean): void;
}

/** What the world gives its guests. */
export interface GuestHost {
  readonly time: VirtualTime;
  readonly roster: Roster;
  /** 32 bytes: of the identity that all gateways share. */
  readonly gatewaySeed: Uint8Array;
  readonly processes: Processes;
  /** A stream of its own for each label. */
  random(label: string): RandomBytes;
  send(from: ProcessName, message: WireMessage, trace: Trace): UndeliveredReason | undefined;
  /** The fate of a call of a port; undefined: nothing is armed. Its orders are the caller's to perform. */
  portCall(call: PortCallMade): PortVerdict | undefined;
  /** The fate of a request to a gateway; undefined: nothing is armed. */
  request(request: DoorRequest): DoorVerdict | undefined;
  perform(orders: readonly Order[]): void;
}

export interface Guests {
  readonly all: readonly Guest[];
  /** Where the coordinator's records lie, by the fence of its start; by default in a memory of the world's own. */
  readonly sessions?: (
    fence: number,
    of: { readonly clusterId: string; readonly resumeKey: Uint8Array },
  ) => CalledStore<CoordinatorWrite, CoordinatorRecord>;
  /** Hears of Redis. */
  readonly redisIs?: (up: boolean) => void;
  /** Performs what concerns them of the orders of the fault engine; returns whether it did. */
  readonly perform?: (order: WorldOrder) => boolean;
}

export type MakeGuests = (host: GuestHost) => Guests;

export const noGuests: Guests = { all: [] };

/** Guests by the address and by the name of their links. */
export class GuestLinks {
  readonly #links: ReadonlyMap<ProcessName, GuestLink>;

  constructor(guests: readonly Guest[]) {
    this.#links = new Map(guests.flatMap(({ name, link }) => (link === undefined ? [] : [[name, link] as const])));
  }

  get names(): readonly ProcessName[] {
    return [...this.#links.keys()];
  }

  of(name: ProcessName): GuestLink | undefined {
    return this.#links.get(name);
  }

  /** Who has this address now. */
  nameAt(address: Address): ProcessName | undefined {
    return this.names.find((name) => this.#links.get(name)!.address() === address);
  }

  /** Whether it took the message. */
  arrived(name: ProcessName, { to, message }: Pick<Envelope<WireMessage>, 'to' | 'message'>): boolean {
    const link = this.#links.get(name);
    if (link === undefined || link.address() !== to) return false;
    link.arrived(message);
    return true;
  }
}
