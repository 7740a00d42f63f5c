/**
 * Processes of another room in the simulated world, e.g. gateways that run the wallet API. They start and die as all processes
 * do, and a process with a link talks to the coordinator as a gateway.
 */

import type { CoordinatorRecord, CoordinatorWrite } from '../../coordinator/contract/messages.ts';
import type { Address, Envelope, Trace, UndeliveredReason } from '../../core/actors/contract.ts';
import type { Roster } from '../../proto/roster.ts';
import type { WireMessage } from '../../proto/wire.ts';
import type {
  ApiServerRequest,
  ApiServerVerdict,
  Order,
  PortCallMade,
  PortVerdict,
  ProcessName,
} from '../../scenarios/faults/vocabulary/engine-contract.ts';
import type { WorldOrder } from './fault-service.ts';
import type { Life, Processes } from './processes.ts';
import type { CalledStore } from './store-side.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface ExternalProcess {
  readonly name: ProcessName;
  readonly life: Life;
  /** undefined: it has no link to the coordinator. */
  readonly link?: ExternalProcessLink;
}

export interface ExternalProcessLink {
  /** Of its present start: new for every start, so that an answer to an earlier one finds no receiver. */
  address(): Address;
  arrived(message: WireMessage): void;
  /** Its link came up, or was lost. */
  linked(up: boolean): void;
}

/** The ports of the world for its guests. */
export interface ExternalProcessHost {
  readonly time: VirtualTime;
  readonly roster: Roster;
  /** 32 bytes: of the identity that all gateways share. */
  readonly gatewaySeed: Uint8Array;
  readonly processes: Processes;
  send(from: ProcessName, message: WireMessage, trace: Trace): UndeliveredReason | undefined;
  /** The fate of a call of a port; undefined: no fault is armed. The caller performs its orders. */
  portCall(call: PortCallMade): PortVerdict | undefined;
  /** The fate of a request to a gateway; undefined: no fault is armed. */
  request(request: ApiServerRequest): ApiServerVerdict | undefined;
  perform(orders: readonly Order[]): void;
}

export interface ExternalProcesses {
  readonly all: readonly ExternalProcess[];
  /** The store of the coordinator's records, by the fence of its start; by default in memory. */
  readonly sessions?: (
    fence: number,
    of: { readonly clusterId: string; readonly resumeKey: Uint8Array },
  ) => CalledStore<CoordinatorWrite, CoordinatorRecord>;
  /** Called when Redis becomes reachable or unreachable. */
  readonly redisIs?: (up: boolean) => void;
  /** Performs the fault engine's orders that concern guests; returns whether it did. */
  readonly perform?: (order: WorldOrder) => boolean;
}

export type MakeExternalProcesses = (host: ExternalProcessHost) => ExternalProcesses;

export const noExternalProcesses: ExternalProcesses = { all: [] };

/** Guests by the address and by the name of their links. */
export class ExternalProcessLinks {
  readonly #links: ReadonlyMap<ProcessName, ExternalProcessLink>;

  constructor(guests: readonly ExternalProcess[]) {
    this.#links = new Map(guests.flatMap(({ name, link }) => (link === undefined ? [] : [[name, link] as const])));
  }

  get names(): readonly ProcessName[] {
    return [...this.#links.keys()];
  }

  of(name: ProcessName): ExternalProcessLink | undefined {
    return this.#links.get(name);
  }

  /** The present guest of this address. */
  nameAt(address: Address): ProcessName | undefined {
    return this.names.find((name) => this.#links.get(name)!.address() === address);
  }

  /** Returns whether a guest took the message. */
  arrived(name: ProcessName, { to, message }: Pick<Envelope<WireMessage>, 'to' | 'message'>): boolean {
    const link = this.#links.get(name);
    if (link === undefined || link.address() !== to) return false;
    link.arrived(message);
    return true;
  }
}
